"""Every kind of window against the slow evaluator; see `chains` for what is random."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from penstock.kernel import segments
from penstock.kernel.aggregation import partition_index
from penstock.kernel.aggregation.partitioned import PartitionedAggregate
from penstock.kernel.aggregation.session import SessionAggregate
from penstock.kernel.aggregation.wid import wid
from penstock.kernel.aggregation.wid.bins import BinsAggregate
from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.aggregation.wid.landmark import LandmarkAggregate
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.windows import (
    Cumulating,
    Landmark,
    Partitioned,
    Session,
    SlideByRank,
    SlideByRowNumber,
    SlideByTuple,
    Sliding,
    Window,
)
from tests.engine.draw import Draw, check_seeds
from tests.kernel.aggregation.chains import GROUPS, Build, Chain, aggregates, check, judge, runs


def behind_bucket(operator: type[WidAggregate]) -> Build:
    return lambda groups, results, window: (Bucket(window), operator(groups, results, window))


def alone(operator: type[PartitionedAggregate] | type[SessionAggregate]) -> Build:
    return lambda groups, results, window: (operator(groups, results, window),)


BINS = behind_bucket(BinsAggregate)


def length(draw: Draw) -> int:
    return draw.between(1, 25)


def few(draw: Draw) -> int:
    return draw.between(1, 9)


def origin(draw: Draw) -> int:
    return draw.between(-5, 5)


def cumulating(draw: Draw) -> Cumulating:
    step = few(draw)
    return Cumulating("ts", step, step * few(draw), origin(draw))


#: Kind -> its windows, and what computes them.
KINDS: dict[str, tuple[Callable[[Draw], Window], Build]] = {
    "sliding": (lambda d: Sliding("ts", length(d), few(d), origin(d)), behind_bucket(WidAggregate)),
    "cumulating": (cumulating, behind_bucket(WidAggregate)),
    "landmark": (lambda d: Landmark("ts", few(d), origin(d)), behind_bucket(LandmarkAggregate)),
    "slide by tuple": (lambda d: SlideByTuple("ts", length(d)), BINS),
    "slide by row number": (lambda d: SlideByRowNumber("ts", length(d), few(d), "n"), BINS),
    "slide by rank": (lambda d: SlideByRank("ts", length(d), few(d)), BINS),
    "partitioned": (
        lambda d: Partitioned("ts", few(d), few(d), d.choose([("a",), ("a", "b")])),
        alone(PartitionedAggregate),
    ),
    "session": (
        lambda d: Session("ts", few(d), d.choose([(), ("a",), ("a", "b")])),
        alone(SessionAggregate),
    ),
}


def results_are_those_of_the_extents_each_exactly_once(kind: str, draw: Draw) -> None:
    windows, build = KINDS[kind]
    window, groups = windows(draw), draw.choose(GROUPS)
    if isinstance(window, (Partitioned, Session)):
        groups = tuple(dict.fromkeys((*window.partition, *groups)))
    run = runs(draw)
    fan_in, many = draw.choose([(wid.FAN_IN, segments.MANY), (2, 2), (3, 4)])
    limit = draw.choose([1, 3, None])
    looked_through = draw.choose([partition_index.FEW, 0])
    with pytest.MonkeyPatch.context() as patch:  # small numbers merge often, in many rounds
        patch.setattr(partition_index, "FEW", looked_through)
        patch.setattr(wid, "FAN_IN", fan_in)
        patch.setattr(segments, "MANY", many)
        judge(build, window, run, groups, aggregates("sum", "max", "var_pop"), limit)


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_those_of_the_extents_each_exactly_once(kind: str) -> None:
    check_seeds(10, partial(results_are_those_of_the_extents_each_exactly_once, kind))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_results_are_those_of_the_extents_over_thousands_of_cases(kind: str) -> None:
    check_seeds(3000, partial(results_are_those_of_the_extents_each_exactly_once, kind))


def chain_of(build: Build, window: object, *groups: str) -> Chain:
    return Chain(build(groups, tuple(aggregates().items()), window), "ts")


def row(ts: int, n: int = 0, a: int = 0) -> dict[str, object]:
    return {"ts": ts, "n": n, "a": a, "b": None, "v": None, "d": None}


def test_a_late_row_falls_between_bins_and_starts_from_the_bin_below_it():
    # The worked example: t1, t2, t3 ascending, t4 after t1 has left, then t5 between t1 and t2.
    chain = chain_of(BINS, SlideByTuple("ts", 10))
    for ts in (1, 4, 6, 12, 2):
        assert chain.rows([row(ts)]) == []
    first = check(chain.punctuate(5))
    assert [(r["window_end"] - 1, r["n"]) for r in first] == [(1, 1), (2, 2), (4, 3)]
    rest = check(chain.punctuate(100))
    assert [(r["window_end"] - 1, r["n"]) for r in rest] == [(6, 4), (12, 3)]


def test_what_a_bound_leaves_open_still_counts_rows_that_came_before_it():
    chain = chain_of(BINS, SlideByTuple("ts", 10))
    chain.rows([row(1), row(3)])
    check(chain.punctuate(4))
    chain.rows([row(5)])
    [(after)] = check(chain.punctuate(6))
    assert after["n"] == 3


def test_ranks_go_on_counting_from_what_is_closed():
    chain = chain_of(BINS, SlideByRank("ts", 100, 3))
    chain.rows([row(1), row(2)])
    assert check(chain.punctuate(5)) == []
    chain.rows([row(9), row(7), row(8), row(6)])
    found = check(chain.punctuate(100))
    assert [(r["window_end"] - 1, r["n"]) for r in found] == [(6, 3), (9, 6)]


def test_partitions_count_their_rows_separately():
    chain = chain_of(alone(PartitionedAggregate), Partitioned("ts", 3, 2, ("a",)), "a")
    chain.rows([row(1, a=1), row(2, a=2), row(3, a=1), row(4, a=1), row(5, a=1)])
    found = check(chain.punctuate(6))
    assert [(r["a"], r["window_start"], r["window_end"], r["n"]) for r in found] == [
        (1, -1, 2, 2),
        (1, 1, 4, 3),
    ]


def test_partitions_forget_the_panes_of_windows_that_are_over():
    chain = chain_of(alone(PartitionedAggregate), Partitioned("ts", 4, 2, ("a",)), "a")
    for ts in range(300):
        chain.rows([row(ts, a=1)])
        chain.punctuate(ts + 1)
    assert sum(rows for table, rows in chain.kept.items() if "panes" in table) < 30


def test_a_late_row_joins_two_sessions():
    chain = chain_of(alone(SessionAggregate), Session("ts", 5))
    chain.rows([row(0), row(10)])
    chain.rows([row(5)])
    assert check(chain.punctuate(15)) == []
    [found] = check(chain.punctuate(16))
    assert (found["window_start"], found["window_end"], found["n"]) == (0, 15, 3)


def test_a_session_that_goes_on_keeps_what_it_had():
    chain = chain_of(alone(SessionAggregate), Session("ts", 5, ("a",)), "a")
    for ts in range(0, 100, 4):
        chain.rows([row(ts, a=1), row(ts, a=2)] if ts < 50 else [row(ts, a=1)])
        for found in check(chain.punctuate(ts + 1)):
            assert (found["a"], found["n"], found["window_end"]) == (2, 13, 53)
    [found] = check(chain.punctuate(200))
    assert (found["a"], found["n"], found["window_start"]) == (1, 25, 0)


def test_a_landmark_window_has_no_results_for_slides_without_rows():
    chain = chain_of(behind_bucket(LandmarkAggregate), Landmark("ts", 10))
    chain.rows([row(5)])
    assert [r["window_end"] for r in check(chain.punctuate(40))] == [10]
    assert check(chain.rows([row(47)])) == []
    assert [(r["window_end"], r["n"]) for r in check(chain.punctuate(60))] == [(50, 2)]


def test_a_landmark_window_over_a_far_off_row_costs_what_its_rows_do():
    chain = chain_of(behind_bucket(LandmarkAggregate), Landmark("ts", 1))
    far = 10**15
    chain.rows([row(5), row(far)])
    assert [(r["window_end"], r["n"]) for r in check(chain.punctuate(far + 2))] == [
        (6, 1),
        (far + 1, 2),
    ]


def test_cumulating_windows_start_together():
    chain = chain_of(behind_bucket(WidAggregate), Cumulating("ts", 10, 30))
    chain.rows([row(1), row(12), row(35)])
    found = check(chain.punctuate(100))
    assert [(r["window_start"], r["window_end"], r["n"]) for r in found] == [
        (0, 10, 1),
        (0, 20, 2),
        (0, 30, 2),
        (30, 40, 1),
        (30, 50, 1),
        (30, 60, 1),
    ]
