"""Several windows in one SELECT: one row for all that end together."""

from __future__ import annotations

import pytest

from penstock import LocalEngine
from penstock.errors import QueryError
from penstock.kernel.aggregation.panes.pane_store import PaneStore
from penstock.model.timestamps import SECOND
from tests.engine.draw import Draw, check_seeds
from tests.engine.random_queries import AGGREGATES
from tests.engine.random_streams import UNITS, arrivals, declarations, pushed
from tests.engine.running import assert_right, feed, how, started
from tests.ticks import push_ticks

STREAM = "CREATE STREAM s (k STRING, v INT, ts TIMESTAMP) TIMESTAMP BY ts;"
TWO = (
    "SELECT k, count(*) [RANGE 2 SECONDS, SLIDE 1 SECOND] AS short, "
    "sum(v) [RANGE 5 SECONDS, SLIDE 1 SECOND] AS total, "
    "max(v) [RANGE 2 SECONDS, SLIDE 1 SECOND] AS most FROM s GROUP BY k"
)


def results_are_those_of_the_definition(draw: Draw) -> None:
    declared = declarations(draw)
    unit = UNITS[declared[0].time]
    slide = draw.between(1, 9)
    items = [
        f"{draw.choose(AGGREGATES)} [RANGE {draw.between(1, 25)}{unit}, SLIDE {slide}{unit}, WA ts]"
        for _ in range(draw.between(2, 4))
    ]
    group = draw.choose(["", "GROUP BY k", "GROUP BY k, v % 2"])
    source = draw.choose(["a", "a", "a UNION b"])
    text = f"SELECT {', '.join(f'{item} AS r{n}' for n, item in enumerate(items))} FROM {source}"
    engine = started(declared, *how(draw))
    query = engine.sql(f"{text} {group}")
    events = arrivals(draw, declared)
    feed(engine, events)
    engine.finish()
    assert_right(query, pushed(declared, events), text)


def test_results_are_those_of_the_definition() -> None:
    check_seeds(12, results_are_those_of_the_definition)


@pytest.mark.slow
def test_results_are_those_of_the_definition_over_thousands_of_cases() -> None:
    check_seeds(3000, results_are_those_of_the_definition)


def test_an_aggregate_over_nothing_is_zero_or_null() -> None:
    engine = LocalEngine()
    engine.sql(f"{STREAM} CREATE QUERY q AS {TWO}")
    push_ticks(engine, "s", [{"k": "x", "v": 7, "ts": 500_000}])
    engine.finish()
    rows = engine.query("q").results().rows(named=True)
    shown = [(row["short"], row["total"], row["most"], row["window_end"].second) for row in rows]
    assert sorted(shown, key=lambda row: row[3]) == [
        (1, 7, 7, 1),
        (1, 7, 7, 2),
        (0, 7, None, 3),
        (0, 7, None, 4),
        (0, 7, None, 5),
    ]
    lengths = {row["window_end"] - row["window_start"] for row in rows}
    assert [length.seconds for length in lengths] == [5]


def test_windows_side_by_side_share_a_store_of_panes() -> None:
    engine = LocalEngine()
    engine.sql(f"{STREAM} CREATE QUERY q AS {TWO}")
    nodes = engine._host.graph.nodes.values()
    stores = [node for node in nodes if isinstance(node.operator, PaneStore)]
    assert len(stores) == 1
    assert "AlignWindows" in engine.query("q").explain()


def test_results_wait_for_all_windows_and_no_longer() -> None:
    engine = LocalEngine()
    engine.sql(f"{STREAM} CREATE QUERY q AS {TWO}")
    for second in range(10):
        push_ticks(engine, "s", [{"k": "x", "v": 1, "ts": second * SECOND}])
        assert engine.query("q").rows == second


@pytest.mark.parametrize(
    ("windows", "reason"),
    [
        (("[RANGE 1 MINUTE]", "[RANGE 2 MINUTES]"), "do not end together"),
        (("[RANGE 1 MINUTE]", "[RANGE ALL, SLIDE 1 MINUTE]"), "only sliding windows"),
        (
            ("[RANGE 5 ROWS, SLIDE 1 ROW, WA row_num]", "[RANGE 5 SECONDS, SLIDE 1 SECOND]"),
            "do not end together",
        ),
    ],
)
def test_windows_that_do_not_end_together_are_refused(
    windows: tuple[str, str], reason: str
) -> None:
    engine = LocalEngine()
    engine.sql(STREAM)
    with pytest.raises(QueryError, match=reason) as error:
        engine.sql(f"SELECT count(*) {windows[0]}, sum(v) {windows[1]} FROM s")
    assert error.value.hint is not None and "one query for each window" in error.value.hint
    assert error.value.position is not None


def test_early_results_are_refused() -> None:
    engine = LocalEngine()
    engine.sql(STREAM)
    with pytest.raises(QueryError, match="not supported for several windows"):
        engine.sql(f"{TWO} EMIT CHANGES")
