"""Joins that keep order, by themselves: who waits for whom, switching, and what order costs.

That their answers are right is judged in `tests/engine/test_joins_against_oracle.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import polars as pl
import pytest

from penstock.kernel.joins.baselines.global_order import GlobalOrder
from penstock.kernel.joins.tactics.adaptive import Adaptive
from penstock.kernel.joins.tactics.filter_order import FilterOrder
from penstock.kernel.joins.tactics.opib import OPIB
from penstock.kernel.joins.tactics.opob import OPOB
from penstock.kernel.joins.tactics.sync_filter import SyncFilter
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.joins.window_join import WindowJoin
from penstock.kernel.operator import Operator
from penstock.model.timestamps import END
from penstock.windows import Band
from tests.kernel.joins.feeding import SCHEMA, Collected, punctuate, push, rows, spec

Pairs = list[tuple[int, int]]


def pairs(out: Collected) -> Pairs:
    return [(row[2], row[5]) for row in out.rows]


# The worked case of ordered-joins 1: w = 6, `a8` is late, `b9` and `c10` are on time.


def worked_case(join: Operator) -> tuple[Pairs, Pairs]:
    """What has come out before a8 comes, and after."""
    out = Collected()
    push(join, 1, rows(("c", 0, 4), ("a", 0, 5), ("b", 0, 6)), out)
    push(join, 0, rows(("x", 0, 7)), out)
    push(join, 1, rows(("b", 0, 9), ("c", 0, 10)), out)
    before = pairs(out)
    push(join, 0, rows(("a", 0, 8), ("b", 0, 12)), out)
    return before, pairs(out)


@pytest.mark.parametrize("tactic", [SyncFilter, FilterOrder])
def test_results_come_in_the_order_of_their_later_timestamp(tactic: Callable[[], Tactic]) -> None:
    before, after = worked_case(WindowJoin(spec(Band(-6, 6), "k"), tactic()))
    assert before == []
    # c12 of the left has not come: (12, …) waits for the right to come as far.
    assert after == [(8, 5)]


def test_sync_filter_makes_rows_wait_and_filter_order_results() -> None:
    band = spec(Band(-6, 6), "k")
    sync, order = WindowJoin(band, SyncFilter()), WindowJoin(band, FilterOrder())
    worked_case(sync)
    worked_case(order)
    assert held_and_queued(sync) == (0, 1)
    assert held_and_queued(order) == (2, 0)


def held_and_queued(join: WindowJoin) -> tuple[int, int]:
    return join.state.table("held").rows, join.state.table("left_queue").rows


def ordered_side(rng: np.random.Generator, count: int, gap: float) -> pl.DataFrame:
    times = np.cumsum(rng.exponential(gap, count)).astype(np.int64)
    keys = [f"key {key}" for key in rng.integers(0, 4, count)]
    return pl.DataFrame({"k": keys, "v": np.arange(count), "ts": times}, schema=SCHEMA)


def fed(join: Operator, sides: list[pl.DataFrame], rng: np.random.Generator) -> Collected:
    """Blocks of random sizes on both sides, in random turns; then the end."""
    out, places = Collected(), [0, 0]
    while any(place < side.height for place, side in zip(places, sides, strict=True)):
        port, size = int(rng.integers(0, 2)), int(rng.integers(1, 30))
        if places[port] < sides[port].height:
            push(join, port, sides[port].slice(places[port], size), out)
            places[port] += size
    for port in (0, 1):
        punctuate(join, port, END, out)
    return out


def test_adaptive_switches_to_and_fro_and_loses_and_doubles_nothing() -> None:
    assert sum(map(switches, range(6))) >= 12


def switches(seed: int) -> int:
    """How often it switched; the answer is checked."""
    rng = np.random.default_rng(seed)
    sides = [ordered_side(rng, 900, 10.0), ordered_side(rng, 1500, 6.0)]
    now, calls = [0.0], [0]

    def stopwatch() -> float:
        # Work is cheap, then dear, then cheap again.
        calls[0] += 1
        now[0] += 200.0 if (calls[0] // 40) % 2 else 0.01
        return now[0]

    join = WindowJoin(spec(Band(-40, 40), "k"), Adaptive(0.3, stopwatch))
    out = fed(join, sides, rng)
    later = [max(pair) for pair in pairs(out)]
    assert later == sorted(later)
    plain = fed(WindowJoin(spec(Band(-40, 40), "k")), sides, rng)
    assert sorted(out.rows) == sorted(plain.rows)
    assert sum(size.rows for size in join.state.sizes()) == 0
    return int(join.state.noted["switches"])


class Clocks:
    """A row comes every so often, and joining a block takes so long; both in one unit."""

    def __init__(self, cost: float) -> None:
        self.cost = cost
        self.busy = self.now = 0.0

    def worked(self) -> float:
        self.busy += self.cost / 2  # it is read before and after
        return self.busy

    def passed(self) -> float:
        return self.now


@cache
def measured(cost: float, unit: float = 1.0, ticks: int = 10) -> tuple[bool, float]:
    """Whether Adaptive orders output and its load: ten rows to one, the tenth of a unit apart."""
    clocks = Clocks(cost * unit)
    tactic = Adaptive(0.3, clocks.worked, clocks.passed)
    join, out = WindowJoin(spec(Band(-4 * ticks, 4 * ticks), "k"), tactic), Collected()
    for turn in range(60):  # ten times the rows after which it looks
        push(join, 0, rows(("x", 0, turn * ticks)), out)
        for place in range(10):
            clocks.now += unit / 10
            push(join, 1, rows(("x", 0, turn * ticks + place * ticks // 10)), out)
    return tactic.orders_output(join.inputs), tactic.load(join.inputs)


@pytest.mark.parametrize(("cost", "orders_output"), [(0.002, False), (0.4, True)])
def test_adaptive_measures_the_load_and_switches_where_it_passes_alpha(
    cost: float, orders_output: bool
) -> None:
    ordering, load = measured(cost)
    assert ordering is orders_output
    # Rows of the faster stream come ten to a unit, and are joined one by one or a few at a time.
    assert cost <= load <= 10 * cost


@pytest.mark.parametrize("ticks", [10, 60_000_000, 10**12])
@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_the_load_has_no_unit_whatever_the_timestamps_count(ticks: int, unit: float) -> None:
    # Integer time columns count anything; and clocks may read seconds or microseconds.
    assert measured(0.02, unit, ticks)[1] == pytest.approx(measured(0.02)[1])


def test_opob_holds_results_and_opib_holds_rows() -> None:
    band = spec(Band(-5, 5), "k")
    for join, held in (
        (WindowJoin(band, OPOB()), "held"),
        (WindowJoin(band, OPIB()), "left_queue"),
    ):
        out = Collected()
        push(join, 0, rows(("x", 1, 10), ("x", 2, 8)), out)
        push(join, 1, rows(("x", 3, 9), ("x", 4, 11), ("x", 5, 12)), out)
        punctuate(join, 0, 12, out)
        assert out.rows == []
        assert {s.table: s.rows for s in join.state.sizes()}[held] > 0
        punctuate(join, 1, 15, out)
        assert [pair[0] for pair in pairs(out)] == [8, 8, 8], "partners of 10 can still come"
        punctuate(join, 1, 16, out)
        assert [pair[0] for pair in pairs(out)] == [8] * 3 + [10] * 3


def test_the_global_order_join_is_right_where_there_is_a_global_order() -> None:
    rng = np.random.default_rng(5)
    sides = [ordered_side(rng, 200, 10.0), ordered_side(rng, 200, 10.0)]
    merged = sorted(
        (ts, port, place)
        for port, side in enumerate(sides)
        for place, ts in enumerate(side.get_column("ts").to_list())
    )
    older, ours = Collected(), Collected()
    for join, out in (
        (WindowJoin(spec(Band(-20, 30), "k"), GlobalOrder()), older),
        (WindowJoin(spec(Band(-20, 30), "k")), ours),
    ):
        for _, port, place in merged:
            push(join, port, sides[port].slice(place, 1), out)
    assert sorted(older.rows) == sorted(ours.rows)


def test_the_global_order_join_is_wrong_where_an_input_is_late() -> None:
    # window-queries 2.6: Main1 five minutes late under Q5-8, times in minutes.
    join, out = WindowJoin(spec(Band(-2, 3), "k"), GlobalOrder()), Collected()
    push(join, 1, rows(("x", 0, 3), ("x", 0, 10)), out)
    push(join, 0, rows(("x", 0, 5)), out)
    assert pairs(out) == [(5, 3), (5, 10)], "5 and 10 are too far apart"
    # Main2 late under Q3-1: the newer row of the other side has purged the partner.
    join, out = WindowJoin(spec(Band(-2, 3), "k"), GlobalOrder()), Collected()
    push(join, 0, rows(("x", 0, 5)), out)
    push(join, 1, rows(("y", 0, 9)), out)
    push(join, 1, rows(("x", 0, 6)), out)
    assert pairs(out) == [], "(5, 6) is missing"
