"""How far bounds must rise at the end of a run, one thing that waits at a time."""

from __future__ import annotations

import pytest

from penstock.local.engine import LocalEngine
from penstock.model.timestamps import BEGINNING, END, SECOND
from penstock.optimizer.closing import closing_bounds, streams_with_row_windows
from penstock.optimizer.options import Options

STREAMS = """
CREATE STREAM a (k INT, ts BIGINT) TIMESTAMP BY ts SLACK 3;
CREATE STREAM b (k INT, ts BIGINT) TIMESTAMP BY ts SLACK 3
"""


def closed(*texts: str, newest: tuple[int, int] = (25, 10), union: str = "meld") -> dict[str, int]:
    engine = LocalEngine()
    engine.sql(STREAMS)
    plans = [engine.sql(text).plan for text in texts]
    times = {(name, "ts"): time for name, time in zip("ab", newest, strict=True)}
    standing = {name: max(time - 3, BEGINNING) for name, time in times.items()}
    found = closing_bounds(plans, times, standing, Options(union=union))
    return {name: bound for (name, _), bound in found.items()}


MATCHES = (
    "SELECT * FROM a MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(ts) AS t PATTERN {} "
    "DEFINE B AS k > 0)"
)
TUMBLING = "SELECT count(*) AS n FROM a [RANGE 10, SLIDE 10, WA ts]"


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("SELECT k FROM a", {}),
        ("SELECT count(*) AS n FROM a [RANGE 5 ROWS]", {}),
        (TUMBLING, {"a": 30}),
        ("SELECT count(*) AS n FROM a [RANGE 20, SLIDE 5, WA ts]", {"a": 45}),
        ("SELECT count(*) AS n FROM a [RANGE ALL, SLIDE 10, WA ts]", {"a": 30}),
        ("SELECT k, count(*) AS n FROM SESSION(TABLE a, DESCRIPTOR(ts), 4) GROUP BY k, "
         "window_start, window_end", {"a": 30}),
        ("SELECT k, ts FROM a ORDER BY ts", {"a": 26}),
        # A match of so many rows is decided with its last; others may become longer.
        (MATCHES.format("(A B)"), {"a": 26}),
        (MATCHES.format("(A B) WITHIN 7"), {"a": 26}),
        (MATCHES.format("(A B+) WITHIN 7"), {"a": 33}),
        (MATCHES.format("(A B+)"), {"a": END}),
        (f"SELECT count(*) [RANGE 10, WA t] AS n FROM ({MATCHES.format('(A B) WITHIN 7')})",
         {"a": 37}),
        # Of a union all inputs must have come as far.
        ("SELECT count(*) AS n FROM a UNION b [RANGE 10, SLIDE 10, WA ts]", {"a": 30, "b": 30}),
        # Pairs leave at once; who has none waits for the last that could be a partner.
        ("SELECT a.k FROM a JOIN b ON a.k = b.k WITHIN 4", {}),
        ("SELECT a.k FROM a LEFT JOIN b ON a.k = b.k WITHIN 4", {"a": 30, "b": 30}),
        # The bound behind a join lags behind its inputs.
        ("SELECT count(*) [RANGE 10, SLIDE 10, WA a.ts] AS n FROM a JOIN b ON a.k = b.k WITHIN 4",
         {"a": 34, "b": 34}),
    ],
)  # fmt: skip
def test_bounds_rise_just_so_far_that_nothing_waits(text: str, bounds: dict[str, int]) -> None:
    assert closed(text) == bounds


def test_ordered_unions_wait_for_each_other() -> None:
    assert closed("SELECT ts FROM a UNION b", union="merge") == {"a": 25, "b": 25}


def test_the_longest_of_several_windows_counts() -> None:
    longer = "SELECT count(*) AS n FROM a [RANGE 100, SLIDE 100, WA ts]"
    assert closed(TUMBLING, longer) == {"a": 100}


def test_without_rows_nothing_waits() -> None:
    assert closed(TUMBLING, newest=(BEGINNING, BEGINNING)) == {}


def test_a_bound_that_is_there_already_is_enough() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    plan = engine.sql(TUMBLING).plan
    assert closing_bounds([plan], {("a", "ts"): 25}, {("a", "ts"): 31}, Options()) == {}


def test_each_of_several_times_of_a_stream_is_closed_by_itself() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM a (ts TIMESTAMP, seq BIGINT) TIMESTAMP BY ts SLACK 1 SECOND, seq")
    by_time = engine.sql("SELECT count(*) [RANGE 10 SECONDS, WA ts] AS n FROM a").plan
    by_number = engine.sql("SELECT count(*) [RANGE 10, WA seq] AS n FROM a").plan
    newest = {("a", "ts"): 25 * SECOND, ("a", "seq"): 7}
    standing = {("a", "ts"): 24 * SECOND, ("a", "seq"): 7}
    assert closing_bounds([by_time], newest, standing, Options()) == {("a", "ts"): 30 * SECOND}
    assert closing_bounds([by_number], newest, standing, Options()) == {("a", "seq"): 10}


def test_patterns_in_the_order_of_arrival_end_with_their_stream() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    query = engine.sql(
        "SELECT * FROM a MATCH_RECOGNIZE (ORDER BY row_num MEASURES count(*) AS n PATTERN (A+ B) "
        "WITHIN 10 ROWS DEFINE B AS k > 0)"
    )
    assert streams_with_row_windows([query.plan]) == {"a"}
    other = engine.sql(MATCHES.format("(A B)")).plan
    assert streams_with_row_windows([other]) == set()
