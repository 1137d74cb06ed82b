"""Buffering, plain and incremental: the windows, computed from the rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from penstock.kernel.aggregation.baselines.buffering import Buffering
from penstock.kernel.aggregation.baselines.buffering_incremental import BufferingIncremental
from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.operator import Operator
from penstock.model.aggregates import Aggregate
from penstock.model.timestamps import END
from penstock.windows import Sliding
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
    judge_restored,
    runs,
)

SUBTRACTABLE: Results = {
    "n": Aggregate("count"),
    "c": Aggregate("count", V),
    "s": Aggregate("sum", V),
    "a": Aggregate("avg", V),
}
ANY: Results = {
    "m": Aggregate("max", V),
    "s": Aggregate("sum", D),
    "u": Aggregate("count_distinct", B),
    "l": Aggregate("percentile", V, parameters=(0.5,)),
}
ALGORITHMS: dict[str, tuple[type[Buffering], Results]] = {
    "plain": (Buffering, ANY),
    "incremental": (BufferingIncremental, SUBTRACTABLE),
}
each_algorithm = pytest.mark.parametrize("name", ALGORITHMS)


def chained(
    of: type[Buffering],
    groups: Sequence[str],
    results: Sequence[tuple[str, Aggregate]],
    window: Sliding,
) -> Sequence[Operator]:
    return (Bucket(window), of(groups, results, window))


def some_window(draw: Draw) -> Sliding:
    return Sliding("ts", draw.between(1, 25), draw.between(1, 12), draw.between(-5, 5))


def windows_of_kept_rows_are_the_windows(name: str, draw: Draw) -> None:
    operator, results = ALGORITHMS[name]
    window, run = some_window(draw), runs(draw)
    limit = draw.choose([1, 3, None])
    judge(partial(chained, operator), window, run, draw.choose(GROUPS), results, limit)


@each_algorithm
def test_windows_of_kept_rows_are_the_windows(name: str) -> None:
    check_seeds(20, partial(windows_of_kept_rows_are_the_windows, name))


@pytest.mark.slow
@each_algorithm
def test_windows_of_kept_rows_are_the_windows_over_thousands_of_cases(name: str) -> None:
    check_seeds(3000, partial(windows_of_kept_rows_are_the_windows, name))


def a_restored_operator_goes_on(name: str, draw: Draw) -> None:
    operator, results = ALGORITHMS[name]
    window, run, groups = some_window(draw), runs(draw), draw.choose(GROUPS)

    def built() -> Chain:
        return Chain(chained(operator, groups, tuple(results.items()), window), "ts")

    judge_restored(built, window, run, groups, results)


@each_algorithm
def test_saved_and_restored_at_every_step_it_goes_on(name: str) -> None:
    check_seeds(5, partial(a_restored_operator_goes_on, name))


@each_algorithm
@pytest.mark.parametrize(
    ("consistent", "sums"),
    [(False, {15: 11, 20: 110, 25: 100, 30: 100}), (True, {15: 1, 20: 100, 25: 100, 30: 100})],
)
def test_a_late_row_counts_in_the_windows_that_are_open_or_in_none(
    name: str, consistent: bool, sums: dict[int, int]
) -> None:
    window = Sliding("ts", 15, 5)
    results = (("s", Aggregate("sum", V)),)
    operator = ALGORITHMS[name][0]((), results, window, consistent=consistent)
    chain = Chain((Bucket(window), operator), "ts")
    items = chain.rows([row(1, 1), row(16, 100)])
    items += chain.punctuate(10)
    items += chain.rows([row(8, 10)])  # its first window ends at 10
    items += chain.punctuate(END)
    found = {r["window_end"]: r["s"] for r in check(items)}
    assert {end: found.get(end, 0) for end in sums} == sums
    assert operator.state.late == 1
    assert chain.kept == {}


def row(ts: int, v: int) -> dict:
    return {"ts": ts, "n": 0, "a": 0, "b": None, "v": v, "d": None}


@each_algorithm
def test_it_keeps_the_rows_of_open_windows_and_no_others(name: str) -> None:
    window = Sliding("ts", 20, 5)
    chain = Chain(chained(ALGORITHMS[name][0], (), (("n", Aggregate("count")),), window), "ts")
    for ts in range(200):
        chain.rows([row(ts, 1)])
        chain.punctuate(ts)
    kept = {table.split(".")[1]: rows for table, rows in chain.kept.items()}
    assert kept["buffer"] in range(15, 26)
