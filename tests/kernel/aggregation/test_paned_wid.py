"""Paned-WID: windows put together from panes are the windows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from penstock.kernel.aggregation import levels
from penstock.kernel.aggregation.pane_store import PaneStore
from penstock.kernel.aggregation.paned_wid import PanedWid
from penstock.kernel.operator import Operator
from penstock.model.aggregates import Aggregate
from penstock.windows import Sliding
from penstock.windows.panes import common_panes
from tests.engine.draw import Draw, check_seeds
from tests.kernel.aggregation.chains import GROUPS, B, Chain, D, Results, V, judge, runs

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
    groups: Sequence[str], results: Sequence[tuple[str, Aggregate]], window: Sliding
) -> Sequence[Operator]:
    store = PaneStore(groups, (each for _, each in results), common_panes([window]))
    return (store, PanedWid(store, groups, results, window))


def windows_of_panes_are_the_windows(kind: str, draw: Draw) -> None:
    unit = draw.choose([1, 1, 2, 3])
    lengths = (unit * draw.between(1, 12), unit * draw.between(1, 6))
    window = Sliding("ts", *lengths, draw.between(-5, 5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "SEGMENTS", draw.choose([2, 4, 8]))
        limit = draw.choose([1, 3, None])
        judge(build, window, runs(draw), draw.choose(GROUPS), RESULTS[kind], limit)


@pytest.mark.parametrize("kind", RESULTS)
def test_windows_of_panes_are_the_windows(kind: str) -> None:
    check_seeds(25, partial(windows_of_panes_are_the_windows, kind))


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
        chain.promise(ts)
    assert chain.kept["PaneStore.panes"] <= 8
