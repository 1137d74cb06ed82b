"""Paned-WID: windows put together from panes are the windows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from penstock.kernel import segments
from penstock.kernel.aggregation.adapt.adapt_pane_store import AdaptPaneStore
from penstock.kernel.aggregation.panes import paned_wid
from penstock.kernel.aggregation.panes.pane_store import PaneStore
from penstock.kernel.aggregation.panes.paned_wid import PanedWid
from penstock.kernel.operator import Operator
from penstock.model.aggregates import Aggregate
from penstock.model.timestamps import END
from penstock.oracle.aggregates import call_of
from penstock.oracle.evaluate import evaluate_window_aggregate, same_rows
from penstock.windows import Sliding
from penstock.windows.panes import common_panes
from tests.engine.draw import Draw, check_seeds
from tests.kernel.aggregation.chains import (
    GROUPS,
    B,
    Chain,
    D,
    Results,
    V,
    check,
    judge,
    rows_of,
    runs,
)
from tests.kernel.moving import move

#: What can be taken away again, and what cannot.
RESULTS: dict[str, Results] = {
    "differential": {
        "n": Aggregate("count"),
        "c": Aggregate("count", V),
        "s": Aggregate("sum", V),
        "e": Aggregate("avg", V),
    },
    "not differential": {
        "s": Aggregate("sum", D),
        "m": Aggregate("max", V),
        "d": Aggregate("var_pop", D),
    },
    "holistic": {
        "q": Aggregate("percentile", V, parameters=(0.5,)),
        "u": Aggregate("count_distinct", B),
        "h": Aggregate("heavy_hitters", V, parameters=(0.3,)),
    },
}


def build(
    groups: Sequence[str],
    results: Sequence[tuple[str, Aggregate]],
    window: Sliding,
    of: type[PaneStore] = PaneStore,
) -> Sequence[Operator]:
    store = of(groups, (each for _, each in results), common_panes([window]))
    return (store, PanedWid(store, groups, results, window))


def windows_of_panes_are_the_windows(kind: str, draw: Draw) -> None:
    unit = draw.choose([1, 1, 2, 3])
    lengths = (unit * draw.between(1, 12), unit * draw.between(1, 6))
    window = Sliding("ts", *lengths, draw.between(-5, 5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "MANY", draw.choose([2, 4, 8]))
        patch.setattr(paned_wid, "AT_ONCE", draw.choose([1, 5, paned_wid.AT_ONCE]))
        limit = draw.choose([1, 3, None])
        of = partial(build, of=draw.choose([PaneStore, AdaptPaneStore]))
        judge(of, window, runs(draw), draw.choose(GROUPS), RESULTS[kind], limit)


@pytest.mark.parametrize("kind", RESULTS)
def test_windows_of_panes_are_the_windows(kind: str) -> None:
    check_seeds(14, partial(windows_of_panes_are_the_windows, kind))


@pytest.mark.slow
@pytest.mark.parametrize("kind", RESULTS)
def test_windows_of_panes_are_the_windows_over_thousands_of_cases(kind: str) -> None:
    check_seeds(3000, partial(windows_of_panes_are_the_windows, kind))


def test_panes_are_as_long_as_all_windows_allow() -> None:
    windows = [Sliding("ts", 9, 6), Sliding("ts", 12, 12), Sliding("ts", 15, 3, 3)]
    panes = common_panes(windows)
    assert panes.length == 3
    assert all(map(panes.fit, windows))
    assert common_panes([*windows, Sliding("ts", 9, 6, 1)]).length == 1
    assert not panes.fit(Sliding("ts", 9, 6, 1))


def test_panes_that_no_window_needs_are_forgotten() -> None:
    window = Sliding("ts", 10, 2)
    chain = Chain(build((), tuple(RESULTS["differential"].items()), window), "ts")
    for ts in range(200):
        chain.rows([{"ts": ts, "n": ts, "a": 0, "b": "x", "v": 1, "d": 1.0}])
        chain.punctuate(ts)
    assert chain.kept["PaneStore.panes"] <= 8


def a_store_that_is_restored_goes_on(draw: Draw) -> None:
    window, run, groups = Sliding("ts", 9, 6), runs(draw), draw.choose(GROUPS)
    results = RESULTS["not differential"]

    def built() -> Chain:
        return Chain(build(groups, tuple(results.items()), window, AdaptPaneStore), "ts")

    items, chain = [], built()
    for item in [*run, END]:
        items += chain.punctuate(item) if isinstance(item, int) else chain.rows(item)
        after = built()
        for mine, before in zip(after.operators, chain.operators, strict=True):
            move(before.state, mine.state)
        chain = after
    calls = {name: call_of(each) for name, each in results.items()}
    expected = evaluate_window_aggregate(window, rows_of(run), groups, calls)
    assert same_rows(check(items), expected)
    assert chain.kept == {}


def test_adapted_panes_that_are_saved_and_restored_at_every_step_go_on() -> None:
    check_seeds(5, a_store_that_is_restored_goes_on)


def test_open_panes_keep_sparse_groups_as_rows_and_dense_ones_as_partials() -> None:
    chain = Chain(
        build(("a",), (("s", Aggregate("sum", V)),), Sliding("ts", 100, 50), AdaptPaneStore), "ts"
    )
    rows = [{"ts": ts, "n": ts, "a": 0 if ts % 2 else ts, "b": "x", "v": 1} for ts in range(2, 42)]
    chain.rows([{**row, "d": 1.0} for row in rows])
    assert chain.kept == {"AdaptPaneStore.partials": 1, "AdaptPaneStore.buffer": 20}
    chain.punctuate(50)
    assert chain.kept == {"AdaptPaneStore.panes": 21}
