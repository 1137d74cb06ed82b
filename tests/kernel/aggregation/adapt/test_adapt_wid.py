"""AdaptWID: exact whatever it decides, and when; and it decides by what takes less memory.

The random cases force low thresholds, so that groups turn eager, lazy and eager again all the time,
with rows in disorder that open earlier windows than those that are there, and bounds in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import polars as pl
import pytest

from penstock.kernel.aggregation.adapt import adapt_wid
from penstock.kernel.aggregation.adapt.adapt_wid import AdaptWid
from penstock.kernel.aggregation.adapt.cost import Conditions, Thresholds, thresholds
from penstock.kernel.aggregation.wid import wid
from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.block import Block
from penstock.kernel.operator import Operator, Output
from penstock.kernel.operators.tag import SOURCE
from penstock.model.aggregates import Aggregate
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import END
from penstock.oracle.evaluate import same_rows
from penstock.windows import Sliding
from tests.engine.draw import Draw, Seeded, check_seeds
from tests.kernel.aggregation.chains import (
    GROUPS,
    B,
    Chain,
    D,
    Results,
    V,
    answers,
    check,
    judge,
    judge_restored,
    runs,
)

RESULTS: Results = {
    "n": Aggregate("count"),
    "s": Aggregate("sum", V),
    "m": Aggregate("max", V),
    "d": Aggregate("var_pop", D),
    "u": Aggregate("count_distinct", B),
}


def at(up: float, down: float) -> Callable[[Conditions], Thresholds]:
    return lambda given: Thresholds(up, down)


def building(up: float, down: float, built: list[AdaptWid] | None = None):
    def build(
        groups: Sequence[str], results: Sequence[tuple[str, Aggregate]], window: Sliding
    ) -> Sequence[Operator]:
        operator = AdaptWid(groups, results, window, at(up, down))
        if built is not None:
            built.append(operator)
        return (Bucket(window), operator)

    return build


def some_window(draw: Draw) -> Sliding:
    return Sliding("ts", draw.between(1, 25), draw.between(1, 12), draw.between(-5, 5))


def groups_that_switch_give_the_windows(draw: Draw, switches: Counter | None = None) -> None:
    up = draw.choose([0, 1, 2, 3, 5])
    built: list[AdaptWid] = []
    build = building(up, draw.choose([0, up, up, up + 2]), built)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adapt_wid, "PATIENCE", draw.choose([1, 1, 1, 2, 2, 8, 1000]))
        patch.setattr(wid, "FAN_IN", draw.choose([2, 3, 32]))
        run, groups = runs(draw), draw.choose(GROUPS)
        results = {name: RESULTS[name] for name in ("n", draw.choose([*RESULTS]))}
        judge(build, some_window(draw), run, groups, results, draw.choose([1, 3, None]))
    if switches is not None:
        switches["eager"] += built[0].state.turned_eager
        switches["lazy"] += built[0].state.turned_lazy


def test_groups_that_switch_give_the_windows() -> None:
    switches: Counter[str] = Counter()
    check_seeds(40, partial(groups_that_switch_give_the_windows, switches=switches))
    # A law about switches says nothing where there are none.
    assert switches["eager"] > 40
    assert switches["lazy"] > 5


def test_rows_that_wait_can_be_described() -> None:
    operators = building(9, 9)(("a",), (("s", RESULTS["s"]),), Sliding("ts", 10, 2))
    Chain(operators, "ts").rows([{"ts": ts, "n": 0, "a": 0, "v": 1} for ts in (1, 30)])
    described = {table.table: table for table in operators[1].state.describe()}
    assert described["buffer"].rows == 2
    assert described["buffer"].extent == ("__wid_end", 5, 20)


@pytest.mark.slow
def test_groups_that_switch_give_the_windows_over_thousands_of_cases() -> None:
    check_seeds(5000, groups_that_switch_give_the_windows)


class TagByNumber(Operator):
    """Pretends that rows came from three sources."""

    idle_waiting_prone = False

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        source = (pl.col("n") % 3).cast(pl.UInt16)
        out.batch(Block(block.rows.with_columns(source.alias(SOURCE))))

    def translate(self, punctuation: Punctuation) -> tuple[Punctuation, ...]:
        return (punctuation,)


def sources_that_are_apart_move_thresholds_and_no_answer(
    draw: Draw, switches: Counter | None = None
) -> None:
    entry = draw.choose([2, 3, 6])
    built: list[AdaptWid] = []

    def build(
        groups: Sequence[str], results: Sequence[tuple[str, Aggregate]], window: Sliding
    ) -> Sequence[Operator]:
        # The true condition, for rows and entries of such a size that it often changes its mind.
        operator = AdaptWid(
            groups, results, window, lambda given: thresholds(replace(given, row=3, entry=entry))
        )
        built.append(operator)
        return (TagByNumber(), Bucket(window), operator)

    run = runs(draw, far=False)
    groups, limit = draw.choose(GROUPS), draw.choose([1, 3, None])
    window = Sliding("ts", draw.between(5, 25), draw.between(3, 12))
    judge(build, window, run, groups, {name: RESULTS[name] for name in ("n", "s", "m")}, limit)
    if switches is not None:
        switches["eager"] += built[0].state.turned_eager
        switches["lazy"] += built[0].state.turned_lazy
        switches["sources"] += len(built[0].state.highs)


def test_sources_that_are_apart_move_thresholds_and_no_answer() -> None:
    switches: Counter[str] = Counter()
    check_seeds(
        20, partial(sources_that_are_apart_move_thresholds_and_no_answer, switches=switches)
    )
    assert switches["sources"] > 30
    assert switches["eager"] > 12
    assert switches["lazy"] > 2


@pytest.mark.slow
def test_sources_that_are_apart_move_no_answer_over_thousands_of_cases() -> None:
    check_seeds(3000, sources_that_are_apart_move_thresholds_and_no_answer)


def a_restored_operator_goes_on(draw: Draw) -> None:
    window, run, groups = some_window(draw), runs(draw), draw.choose(GROUPS)
    build = building(draw.choose([1, 2, 3]), draw.choose([1, 2, 3]))
    results = {name: RESULTS[name] for name in ("n", "s", "d")}

    def built() -> Chain:
        return Chain(build(groups, tuple(results.items()), window), "ts")

    assert judge_restored(built, window, run, groups, results).kept == {}


def test_saved_and_restored_at_every_step_it_goes_on_as_if_nothing_had_been() -> None:
    check_seeds(10, a_restored_operator_goes_on)


# -- single traps -----------------------------------------------------------------------------


def chain_of(window: Sliding, limits: Callable[[Conditions], Thresholds]) -> Chain:
    results = (("n", Aggregate("count")), ("s", Aggregate("sum", V)))
    return Chain((Bucket(window), AdaptWid(("a",), results, window, limits)), "ts")


def row(ts: int, v: int, a: int = 0) -> dict:
    return {"ts": ts, "n": 0, "a": a, "b": None, "v": v, "d": None}


def sums(items: list) -> dict:
    return {r["window_end"]: r["s"] for r in check(items)}


def adapted(chain: Chain) -> AdaptWid:
    operator = chain.operators[1]
    assert isinstance(operator, AdaptWid)
    return operator


def test_a_row_in_disorder_opens_windows_before_those_that_an_eager_group_has() -> None:
    chain = chain_of(Sliding("ts", 10, 5), at(0, 0))
    items = chain.rows([row(22, 1)])
    assert adapted(chain).state.partials.rows == 1
    items += chain.rows([row(3, 10)])
    items += chain.punctuate(END)
    assert sums(items) == {5: 10, 10: 10, 25: 1, 30: 1}


def test_a_transitional_group_is_merged_from_both_and_may_become_eager_again() -> None:
    limits = {"up": 0.0, "down": 0.0}
    chain = chain_of(Sliding("ts", 10, 5), lambda given: Thresholds(**limits))
    state = adapted(chain).state
    items = chain.rows([row(4, 1), row(8, 2)])
    assert (state.partials.rows > 0, state.buffer.rows) == (True, 0)
    limits.update(up=3.0, down=3.0)
    items += chain.punctuate(5)  # few rows are left: lazy, but partials stay
    assert (state.turned_lazy, state.transitional.rows) == (1, 1)
    items += chain.rows([row(9, 4)])
    assert (state.buffer.rows, state.transitional.rows) == (1, 1)
    items += chain.rows([row(9, 8), row(11, 16)])  # eager again: 5 rows are alive
    assert (state.buffer.rows, state.transitional.rows, state.turned_eager) == (0, 0, 2)
    items += chain.punctuate(END)
    assert sums(items) == {5: 1, 10: 15, 15: 30, 20: 16}


def test_a_group_without_rows_in_open_windows_is_forgotten_and_begins_lazy() -> None:
    chain = chain_of(Sliding("ts", 10, 10), at(1, 1))
    chain.rows([row(4, 1), row(8, 2)])
    chain.punctuate(10)
    assert chain.kept == {}
    chain.rows([row(12, 1)])
    assert chain.kept == {"AdaptWid.buffer": 1}


# -- what it decides --------------------------------------------------------------------------


def test_sparse_groups_stay_rows_and_dense_ones_become_partials() -> None:
    window = Sliding("ts", 60, 6)
    results = (("n", Aggregate("count")), ("s", Aggregate("sum", V)))
    chain = Chain((Bucket(window), AdaptWid(("a",), results, window)), "ts")
    state = adapted(chain).state
    for ts in range(0, 600, 6):
        chain.rows([row(ts + n % 6, 1, a=0) for n in range(50)] + [row(ts, 1, a=1 + ts)])
        chain.punctuate(ts)
    groups = {key for rows in state.partials for key in rows.get_column("a").unique()}
    waiting = {key for rows in state.buffer for key in rows.get_column("a").unique()}
    assert groups == {0}
    assert len(waiting) in range(10, 13)  # those of the last ten slides
    assert 54 <= state.duration <= 72


def test_a_windows_duration_is_measured_from_bound_to_bound() -> None:
    chain = chain_of(Sliding("ts", 10, 5), at(3, 2))
    state = adapted(chain).state
    chain.punctuate(100)
    chain.rows([row(100, 1), row(108, 1)])
    chain.rows([row(131, 1)])
    assert state.duration == 10.0  # RANGE, until one has closed
    chain.punctuate(110)
    assert state.duration == 131 - 100


def test_it_keeps_no_more_than_groups_and_a_share_of_new_rows_row_by_row() -> None:
    window = Sliding("ts", 100, 100)
    results = (("s", Aggregate("sum", V)),)
    chain = Chain((Bucket(window), AdaptWid(("a",), results, window)), "ts", limit=1)
    for ts in range(99):
        chain.rows([row(ts, 1, a=n) for n in range(3)])
    kept = chain.kept
    assert kept["AdaptWid.partials"] == 3
    assert kept.get("AdaptWid.buffer", 0) <= 2


def test_the_answer_of_seeds_does_not_depend_on_thresholds() -> None:
    for seed in range(5):
        draw = Seeded(seed)
        run, window = runs(draw), some_window(draw)
        found = [
            answers(Chain(building(up, up)(("a",), tuple(RESULTS.items()), window), "ts"), run)
            for up in (0, 2, 10**9)
        ]
        assert same_rows(found[0], found[1])
        assert same_rows(found[0], found[2])
    assert isinstance(found[0], list)
    assert pl.DataFrame(found[0]).height == len(found[0])
