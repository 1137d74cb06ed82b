"""The first complete window is the first that begins behind the newest row so far."""

from __future__ import annotations

import pytest

from penstock.plan.first_complete import first_complete
from tests.spark.placement.plans import plan

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("window", "newest", "first"),
    [
        ("[RANGE 10 SECONDS]", 25, (30, 40)),
        ("[RANGE 10 SECONDS]", 30, (40, 50)),
        ("[RANGE 10 SECONDS, SLIDE 2 SECONDS]", 25, (26, 36)),
        ("[RANGE 10 SECONDS, SLIDE 4 SECONDS]", 25, (26, 36)),
        ("[RANGE 10 SECONDS, SLIDE 3 SECONDS]", 25, (26, 36)),
        ("[RANGE 10 SECONDS, SLIDE 3 SECONDS]", 26, (29, 39)),
    ],
)
def test_it_begins_behind_the_newest_row(window: str, newest: int, first: tuple[int, int]) -> None:
    found = first_complete(
        plan(f"SELECT k, count(*) AS n FROM a {window} GROUP BY k"), {"a": newest * SECOND}
    )
    assert found == tuple(each * SECOND for each in first)


def test_the_furthest_of_several_streams_counts() -> None:
    united = plan("SELECT k, count(*) AS n FROM a UNION b [RANGE 10 SECONDS] GROUP BY k")
    assert first_complete(united, {"a": 1, "b": 35 * SECOND}) == (40 * SECOND, 50 * SECOND)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k FROM a",
        "SELECT k, count(*) AS n FROM a [RANGE 10 ROWS] GROUP BY k",
        "SELECT a.k FROM a JOIN b ON a.k = b.k WITHIN 3 SECONDS",
        "SELECT window_end, max(n) AS m FROM (SELECT k, count(*) AS n FROM a [RANGE 3 SECONDS] "
        "GROUP BY k) GROUP BY window_end",
    ],
)
def test_other_queries_have_none(text: str) -> None:
    assert first_complete(plan(text), {"a": 1, "b": 2}) is None
