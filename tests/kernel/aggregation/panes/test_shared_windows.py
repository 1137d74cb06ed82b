"""Many windows over one store: each gets its own answer, however they are computed together.

Random windows of one store, whose readers take their turns in any order and now and then lag behind
bounds; with grids and without, with all readers in one go and each by itself, and with state that
is saved and restored on the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from penstock.kernel.aggregation.panes import pane_grid, shared_windows
from penstock.kernel.aggregation.panes.pane_store import PaneStore
from penstock.kernel.aggregation.panes.paned_wid import PanedWid
from penstock.kernel.aggregation.panes.range_aggregates import (
    AlignedBlocks,
    RangeAggregate,
    RunningSums,
)
from penstock.kernel.block import Block
from penstock.kernel.graph import Graph
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Ref
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import END
from penstock.model.types import Type
from penstock.oracle.aggregates import call_of
from penstock.oracle.evaluate import evaluate_window_aggregate, same_rows
from penstock.windows import Sliding
from penstock.windows.panes import common_panes
from tests.engine.draw import Draw, check_seeds
from tests.kernel.aggregation.chains import GROUPS, SCHEMA, B, D, Results, V, rows_of, runs
from tests.kernel.moving import Snapshot

TS = Ref("ts", Type.TIMESTAMP)

RESULTS: list[Results] = [
    {"rows": Aggregate("count"), "s": Aggregate("sum", V)},
    {"number": Aggregate("count"), "total": Aggregate("sum", V)},  # the same under other names
    {"c": Aggregate("count", V), "least": Aggregate("min", V), "latest": Aggregate("max", TS)},
    {"s": Aggregate("sum", D), "mean": Aggregate("avg", D), "most": Aggregate("max", D)},
    {"text": Aggregate("max", B)},  # no numbers: by itself
]


class Windows:
    """A store and its readers, each with a sink."""

    def __init__(self, groups: tuple[str, ...], windows: list[tuple[Sliding, Results]]) -> None:
        aggregates = [each for _, results in windows for each in results.values()]
        self.graph = Graph()
        self.source = self.graph.add_source("source")
        store = PaneStore(groups, aggregates, common_panes(window for window, _ in windows))
        self.store = self.graph.add(store, [self.source])
        self.readers = [
            self.graph.add(PanedWid(store, groups, tuple(results.items()), window), [self.store])
            for window, results in windows
        ]
        self.sinks = [
            self.graph.add_sink(f"out {number}", reader)
            for number, reader in enumerate(self.readers)
        ]

    def take(self) -> list[list[dict[str, Any]]]:
        found: list[list[dict[str, Any]]] = [[] for _ in self.sinks]
        for sink, rows in zip(self.sinks, found, strict=True):
            while not sink.empty:
                item = sink.take()
                if isinstance(item, Block):
                    rows += item.rows.to_dicts()
        return found


def every_window_gets_its_answer(draw: Draw) -> None:
    groups = draw.choose(GROUPS)
    unit = draw.choose([1, 2, 3])
    windows = [
        (
            Sliding(
                "ts", unit * draw.between(1, 12), unit * draw.between(1, 6), draw.between(0, 3)
            ),
            draw.choose(RESULTS),
        )
        for _ in range(draw.between(1, 6))
    ]
    run = runs(draw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pane_grid, "FEW_PLACES", draw.choose([0, 40, 1 << 14]))
        patch.setattr(pane_grid, "PLACES", draw.choose([1, 2, 4]))
        patch.setattr(shared_windows, "MOST_RESULTS", draw.choose([0, 50, 1 << 21]))
        found = _answers(draw, groups, windows, [*run, END])
    for (window, results), ours in zip(windows, found, strict=True):
        calls = {name: call_of(each) for name, each in results.items()}
        expected = evaluate_window_aggregate(window, rows_of(run), groups, calls)
        assert same_rows(ours, expected), f"{window}\nours: {ours}\noracle: {expected}"


def _answers(
    draw: Draw, groups: tuple[str, ...], windows: list[tuple[Sliding, Results]], run: list[Any]
) -> list[list[dict[str, Any]]]:
    engine = Windows(groups, windows)
    found: list[list[dict[str, Any]]] = [[] for _ in windows]
    for item in run:
        if isinstance(item, int):
            engine.source.output.punctuation(Punctuation("ts", item))
        else:
            engine.source.output.batch(Block(pl.DataFrame(item, schema=SCHEMA)))
        while engine.store.more():
            engine.store.step()
        turn = draw.between(0, len(windows) - 1)
        for reader in engine.readers[turn:] + engine.readers[:turn]:
            while reader.more() and (item == END or draw.between(0, 4)):
                reader.step()
        for rows, more in zip(found, engine.take(), strict=True):
            rows += more
        if not draw.between(0, 4):
            saved = Snapshot.of(engine.graph.states(), engine.graph)
            engine = Windows(groups, windows)
            saved.put_into(engine.graph.states(), engine.graph)
    assert [rows for *_, rows, _ in engine.graph.state_sizes() if rows] == []
    return found


def test_every_window_gets_its_answer() -> None:
    check_seeds(20, every_window_gets_its_answer)


@pytest.mark.slow
def test_every_window_gets_its_answer_over_thousands_of_cases() -> None:
    check_seeds(5000, every_window_gets_its_answer)


def a_run_of_rows_is_what_its_rows_come_to(draw: Draw) -> None:
    values: list[list[float]] = []
    kinds: dict[str, RangeAggregate] = {
        "sum": RunningSums(np.int64),
        "double sum": AlignedBlocks(np.add, 0.0, np.float64),
        "min": AlignedBlocks(np.fmin, np.nan, np.float64),
    }
    width = first = 0
    for _ in range(draw.between(1, 8)):
        width += draw.between(0, 2)
        count = draw.between(0, 7)
        drawn = [draw.between(-9, 9) for _ in range(count * width)]
        added = np.array(drawn, dtype=np.int64).reshape(count, width)
        for each in kinds.values():
            each.append(added.astype(each.dtype))
        values += [list(map(float, row)) for row in added]
        first = draw.between(first, len(values))
        for each in kinds.values():
            each.drop(first)
        if first == len(values) or not width:
            continue
        low = np.array([draw.between(first, len(values) - 1) for _ in range(3)])
        high = np.array([draw.between(int(each) + 1, len(values)) for each in low])
        for number, (start, stop) in enumerate(zip(low, high, strict=True)):
            columns = [
                [row[column] for row in values[start:stop] if column < len(row)]
                for column in range(width)
            ]
            sums = list(map(sum, columns))
            assert kinds["sum"].query(low, high)[number].tolist() == sums
            assert kinds["double sum"].query(low, high)[number].tolist() == sums
            least = [min(column, default=None) for column in columns]
            found = kinds["min"].query(low, high)[number].tolist()
            assert [None if np.isnan(each) else each for each in found] == least


def test_a_run_of_rows_is_what_its_rows_come_to() -> None:
    check_seeds(100, a_run_of_rows_is_what_its_rows_come_to)


def test_nothing_that_has_left_shows_in_a_sum_of_doubles() -> None:
    each = AlignedBlocks(np.add, 0.0, np.float64)
    each.append(np.array([[1e300], [0.1], [0.2], [0.3]]))
    found = each.query(np.array([1]), np.array([4]))
    assert found[0, 0] == pytest.approx(0.6)


def test_readers_that_want_the_same_are_served_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    windows = [(Sliding("ts", length, 2), RESULTS[0]) for length in range(2, 42, 2)]
    calls = []
    compose = pane_grid.PaneGrid.compose

    def counted(self: pane_grid.PaneGrid, *given: Any) -> Any:
        calls.append(given)
        return compose(self, *given)

    monkeypatch.setattr(pane_grid.PaneGrid, "compose", counted)
    rows = [{"ts": ts, "n": ts, "a": 0, "b": "x", "v": 1, "d": 1.0} for ts in range(100)]
    found = _answers(_Prompt(), ("a",), windows, [rows[:50], 40, rows[50:], END])
    assert len(calls) == 2
    assert [len(each) for each in found] == [50 + number for number in range(20)]


class _Prompt(Draw):
    """Readers that never wait."""

    def between(self, low: int, high: int) -> int:
        return low if low == 0 and high > 10 else high

    def choose(self, options: Any) -> Any:
        return options[0]


def test_groups_that_are_rarely_there_get_no_grid() -> None:
    windows = [(Sliding("ts", 4, 1), RESULTS[0])]
    rows = [{"ts": ts, "n": ts, "a": ts, "b": "x", "v": 1, "d": 1.0} for ts in range(1000)]
    engine = Windows(("a",), windows)
    engine.source.output.batch(Block(pl.DataFrame(rows, schema=SCHEMA)))
    engine.source.output.punctuation(Punctuation("ts", 900))
    while engine.store.more():
        engine.store.step()
    store = engine.store.operator
    assert isinstance(store, PaneStore)
    assert store.windows.grid() is None
    while engine.readers[0].more():
        engine.readers[0].step()
    [found] = engine.take()
    assert len(found) == 3594
