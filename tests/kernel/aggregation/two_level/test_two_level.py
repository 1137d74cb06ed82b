"""Two-level aggregation against the slow evaluator, and what its table holds and lets go.

Tables of one slot and of many, blocks of any size, all policies: whatever leaves the table when,
the answers are those of the extents, each once, and none after a bound that excludes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from penstock.kernel.aggregation.two_level.flush import IN_ORDER, LAZY, SLOW, Flush
from penstock.kernel.aggregation.two_level.two_level import HighLevel, LowLevel
from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.operator import Operator
from penstock.model.aggregates import Aggregate
from penstock.model.timestamps import END
from penstock.windows import Cumulating, Sliding
from penstock.windows.tagged import Tagged
from tests.engine.draw import Draw, check_seeds
from tests.kernel.aggregation.chains import GROUPS, Build, Chain, D, aggregates, judge, runs
from tests.kernel.moving import move

FUNCTIONS = ("sum", "min", "max", "avg", "var_pop", "stddev_samp", "count_distinct", "sum_distinct")
COUNT = (("n", Aggregate("count")),)


def two_level(size: int, flush: Flush) -> Build:
    def build(
        groups: Sequence[str], results: Sequence[tuple[str, Aggregate]], window: Any
    ) -> list[Operator]:
        low = LowLevel(groups, results, size, flush)
        return [Bucket(window), low, HighLevel(groups, results, window)]

    return build


def policies(draw: Draw) -> Flush:
    policy = draw.choose([LAZY, SLOW, IN_ORDER])
    return Flush(policy, draw.choose([1, 2, 5]), draw.choose([1, 3, 160]))


def windows(draw: Draw) -> Tagged:
    if draw.choose([False, False, True]):
        step = draw.between(1, 6)
        return Cumulating("ts", step, step * draw.between(1, 4), 0)
    range_ = draw.between(1, 25)
    slide = draw.choose([range_, range_, draw.between(1, 12)])
    return Sliding("ts", range_, slide, draw.between(-5, 5))


def answers_are_those_of_the_extents(draw: Draw) -> None:
    window, run = windows(draw), runs(draw)
    functions = [draw.choose(FUNCTIONS) for _ in range(draw.between(1, 2))]
    results = aggregates(*functions) | {"d": Aggregate("sum", D)}
    build = two_level(draw.choose([1, 2, 5, 1000]), policies(draw))
    judge(build, window, run, draw.choose(GROUPS), results, draw.choose([1, 3, None]))


def test_answers_are_those_of_the_extents_each_exactly_once() -> None:
    check_seeds(30, answers_are_those_of_the_extents)


@pytest.mark.slow
def test_answers_are_those_of_the_extents_many_times_over() -> None:
    check_seeds(5000, answers_are_those_of_the_extents)


def restored_in_mid_run(draw: Draw) -> None:
    """Saving and restoring the low level anywhere changes nothing."""
    window, run, groups = windows(draw), runs(draw), draw.choose(GROUPS)
    size, flush, limit = draw.choose([1, 3, 50]), policies(draw), draw.choose([1, None])
    build = two_level(size, flush)
    plain = Chain(build(groups, COUNT, window), "ts", limit)
    broken = Chain(build(groups, COUNT, window), "ts", limit)
    for item in [*run, END]:
        for operator in broken.operators:
            move(operator.state, operator.state)
        given = [
            c.punctuate(item) if isinstance(item, int) else c.rows(item) for c in (plain, broken)
        ]
        assert given[0] == given[1]


def test_a_table_that_is_restored_goes_on_as_it_was() -> None:
    check_seeds(10, restored_in_mid_run)


# -- what the table holds --------------------------------------------------------------------------


class Low:
    """A low level alone: what leaves it, as (group, window, count), and bounds as numbers."""

    def __init__(self, size: int, flush: Flush, width: int = 10) -> None:
        window = Sliding("ts", width, width)
        self.low = LowLevel(("a",), COUNT, size, flush)
        self.chain = Chain([Bucket(window), self.low], "ts")

    def rows(self, *rows: tuple[int, int]) -> list[Any]:
        """Rows as (time, group)."""
        given = [{"ts": ts, "n": 0, "a": a, "b": None, "v": None, "d": None} for ts, a in rows]
        return self._shown(self.chain.rows(given))

    def punctuate(self, bound: int) -> list[Any]:
        return self._shown(self.chain.punctuate(bound))

    @property
    def held(self) -> int:
        return self.low._table._counting().height

    def _shown(self, items: Sequence[Any]) -> list[Any]:
        out: list[Any] = []
        for item in items:
            if isinstance(item, tuple):
                out.append(item[1])
            else:
                out += [(r["a"], r["__wid_start"], r["__count(*)"]) for r in item]
        return out


def test_rows_of_a_group_stay_together_and_leave_as_one() -> None:
    low = Low(100, Flush(LAZY, windows=1))
    assert low.rows((1, 7), (2, 7), (3, 7)) == []
    assert low.rows((4, 7)) == []
    assert low.punctuate(20) == [(7, 0, 4), 2]


def test_a_collision_throws_the_resident_out() -> None:
    low = Low(1, Flush(LAZY))
    assert low.rows((1, 7)) == []
    assert low.rows((2, 8)) == [(7, 0, 1)]
    assert low.rows((3, 7)) == [(8, 0, 1)]
    assert low.held == 1


def test_of_a_block_the_last_stays_and_equal_ones_are_merged_first() -> None:
    low = Low(1, Flush(LAZY))
    assert low.rows((1, 7), (2, 8), (3, 7), (4, 8)) == [(7, 0, 2)]
    assert low.rows((5, 8), (6, 7), (7, 8)) == [(7, 0, 1)]
    assert low.punctuate(END) == [(8, 0, 4), END]


def test_the_same_group_in_the_next_window_throws_its_own_aggregate_out() -> None:
    low = Low(100, Flush(LAZY))
    low.rows((1, 7))
    assert low.rows((11, 7)) == [(7, 0, 1)]


def test_a_bound_waits_for_the_last_aggregate_of_its_windows() -> None:
    low = Low(1000, Flush(LAZY, windows=5))
    low.rows((1, 1), (1, 2), (2, 3))
    assert low.punctuate(10) == [0]  # three aggregates of window 0 are in the table
    low.rows((11, 1), (11, 2))
    assert low.held == 3
    assert low.rows((12, 3)) == [(3, 0, 1)]
    assert low.punctuate(20) == [1]
    assert low.punctuate(30) == []


@pytest.mark.parametrize("policy", [LAZY, SLOW])
def test_no_aggregate_stays_longer_than_m_windows(policy: str) -> None:
    low = Low(1000, Flush(policy, windows=2))
    low.rows((1, 1))
    assert low.punctuate(10) == [0]
    assert low.punctuate(20) == []
    assert low.punctuate(30) == [(1, 0, 1), 3]


def test_slowly_one_old_aggregate_leaves_for_every_i_rows() -> None:
    low = Low(1000, Flush(SLOW, windows=9, rows=3))
    low.rows(*((1, group) for group in range(21)))
    low.punctuate(10)
    left = [low.rows((11 + n // 3, 500)) for n in range(12)]
    assert [len(out) for out in left] == [0, 0, 1] * 4
    assert low.held == 21 - 4 + 1


def test_in_order_no_new_aggregate_leaves_before_an_old_one() -> None:
    low = Low(4, Flush(IN_ORDER))
    windows: list[int] = []
    for second in range(0, 200, 2):
        for group in range(5):
            out = low.rows((second, (second * 7 + group * 3) % 11))
            windows += [item[1] for item in out if isinstance(item, tuple)]
        windows += [item[1] for item in low.punctuate(second) if isinstance(item, tuple)]
    assert len(windows) > 100
    assert windows == sorted(windows)


def test_what_is_kept_follows_the_size_of_the_table_not_the_number_of_rows() -> None:
    low = Low(8, Flush(LAZY))
    for n in range(500):
        low.rows((n // 100, n % 37))
        assert low.held <= 8
        assert low.low.state.entries.rows <= 2 * 8 + 64


def test_without_groups_one_slot_is_used() -> None:
    low = LowLevel((), COUNT, 16, Flush(LAZY))
    chain = Chain([Bucket(Sliding("ts", 10, 10)), low], "ts")
    row = {"n": 0, "a": None, "b": None, "v": None, "d": None}
    chain.rows([{"ts": ts, **row} for ts in (1, 2, 3)])
    assert low._table._counting().height == 1
    assert isinstance(low.state.entries.segments[0].rows, pl.DataFrame)
