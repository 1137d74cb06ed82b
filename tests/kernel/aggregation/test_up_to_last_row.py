"""Windows over rows end with the rows: what no row could have completed has no result."""

from __future__ import annotations

import pytest

from penstock.local.engine import LocalEngine
from tests.engine.baselines import BaselineEngine
from tests.engine.running import AGGREGATIONS
from tests.ticks import push_ticks

STREAM = "CREATE STREAM s (k STRING, v INT, ts TIMESTAMP) TIMESTAMP BY ts"


def ends(text: str, rows: int, aggregation: str = "auto", cut: int = 100) -> list[int]:
    """The ends of the windows of a query over so many rows, pushed in blocks."""
    engine = BaselineEngine()
    engine.sql(STREAM)
    engine.choose(aggregation)
    query = engine.sql(text)
    pushed = [{"k": "ab"[n % 2], "v": n, "ts": n} for n in range(1, rows + 1)]
    for begin in range(0, rows, cut):
        push_ticks(engine, "s", pushed[begin : begin + cut])
    engine.finish()
    assert [kept for *_, kept, _ in engine.state() if kept] == []
    return sorted(query.results().get_column("window_end").to_list())


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("cut", [1, 2, 100])
def test_there_is_no_window_past_the_last_row(aggregation: str, cut: int) -> None:
    counted = "SELECT count(*) AS n FROM s [RANGE {} ROWS, SLIDE {} ROWS]"
    assert ends(counted.format(2, 1), 3, aggregation, cut) == [2, 3, 4]
    assert ends(counted.format(4, 2), 4, aggregation, cut) == [3, 5]
    # The fifth row is in the last step of a window that it does not fill.
    assert ends(counted.format(4, 2), 5, aggregation, cut) == [3, 5, 7]
    assert ends(counted.format(10, 10), 25, aggregation, cut) == [11, 21, 31]


@pytest.mark.parametrize("cut", [1, 3, 100])
def test_rows_that_a_condition_drops_have_come_all_the_same(cut: int) -> None:
    text = "SELECT count(*) AS n FROM s [RANGE 4 ROWS, SLIDE 1 ROW] WHERE v <= 2"
    assert ends(text, 10, cut=cut) == [2, 3, 4, 5, 6]
    assert ends(text, 4, cut=cut) == [2, 3, 4, 5]


def test_the_rows_of_each_partition_end_its_own_windows() -> None:
    text = "SELECT k, count(*) AS n FROM s [RANGE 3 ROWS, SLIDE 2 ROWS, PA k]"
    assert ends(text, 5) == [2, 2, 4]  # three of a, two of b


def test_windows_of_different_lengths_end_with_the_rows() -> None:
    text = "SELECT count(*) [RANGE 2 ROWS, SLIDE 1 ROW], sum(v) [RANGE 3 ROWS, SLIDE 1 ROW] FROM s"
    assert ends(text, 3) == [2, 3, 4]


def test_what_is_computed_from_such_windows_comes_out_as_well() -> None:
    inner = "SELECT count(*) AS n FROM s [RANGE 4 ROWS, SLIDE 2 ROWS]"
    assert ends(f"SELECT sum(n) AS m FROM ({inner}) [RANGE 4, SLIDE 4, WA window_end]", 5) == [4, 8]


def test_early_results_are_followed_by_final_ones() -> None:
    engine = LocalEngine()
    engine.sql(STREAM)
    query = engine.sql("SELECT count(*) AS n FROM s [RANGE 4 ROWS, SLIDE 2 ROWS] EMIT CHANGES")
    for n in range(1, 4):
        push_ticks(engine, "s", [{"k": "a", "v": n, "ts": n}])
    engine.finish()
    rows = query.results()
    final = rows.filter("is_final").get_column("window_end").to_list()
    assert sorted(final) == sorted(set(rows.get_column("window_end"))) == [3, 5]
