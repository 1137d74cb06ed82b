"""How a plan is looked for, and which is taken."""

from __future__ import annotations

import random
import sys
import time
from types import FrameType
from typing import Any

import pytest

from penstock.optimizer.cost.joins import JoinUnits
from penstock.optimizer.joins.exhaustive import all_shapes
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.min_state import min_state
from penstock.optimizer.joins.ordered_trees import OrderedTrees
from penstock.optimizer.joins.pareto import Limits
from penstock.optimizer.joins.strategy import (
    MOST_PLANS,
    bjtree_init,
    choose_shape,
    mjoin_init,
    scarcer_resource,
)
from tests.optimizer.joins.graphs import PUBLISHED, chain, random_graph, with_cycles

PROBE = JoinUnits(mode="probe")


@pytest.mark.parametrize(
    ("number", "limits", "shape"),
    [
        (1, Limits(1e6, 1e4), ((0, 1), 2)),  # both qualify
        (2, Limits(1e6, 1e4), ((0, 1), 2)),  # only trees of two are fast enough
        (3, Limits(3e6, 1e3), (0, 1, 2, 3)),  # only the MJoin is small enough
        (4, Limits(300e6, 50e3), ((0, 1), 2, 3)),  # only a hybrid is both
    ],
)
def test_in_the_published_settings_the_plan_is_taken_that_was_found_to_suit(
    number: int, limits: Limits, shape: object
) -> None:
    choice = choose_shape(OrderedTrees(PUBLISHED[number], PROBE), limits)
    assert choice.qualifies
    assert choice.plan.shape == shape
    assert choice.strategy == "exhaustive"


def test_of_few_inputs_the_plan_of_least_processor_time_is_taken() -> None:
    rng = random.Random(3)
    trees = OrderedTrees(random_graph(with_cycles(5, rng), rng), PROBE)
    choice = choose_shape(trees, Limits(1e30, 1e30))
    least = min(trees.cost(shape).processor for shape in all_shapes(5))
    assert choice.plan.cost.processor <= least * 1.02


def test_what_is_scarcer_decides_where_to_begin() -> None:
    rng = random.Random(1)
    trees = OrderedTrees(random_graph(with_cycles(8, rng), rng), PROBE)
    mjoin, enough = trees.cost(trees.at_once), 1e30
    for limits, scarcer, strategy in (
        (Limits(enough, mjoin.memory * 1.2), "memory", "mjoin-init"),
        (Limits(trees.cost(min_state(trees)).processor * 1.1, enough), "processor", "bjtree-init"),
    ):
        assert scarcer_resource(trees, limits) == scarcer
        choice = choose_shape(trees, limits)
        assert (choice.scarcer, choice.strategy) == (scarcer, strategy)
        assert choice.qualifies


def test_where_little_is_needed_there_is_enough_of_both() -> None:
    trees = OrderedTrees(PUBLISHED[1], PROBE)
    assert scarcer_resource(trees, Limits(1e9, 1e9)) is None


def test_without_a_qualified_plan_the_one_is_taken_that_exceeds_its_limits_least() -> None:
    rng = random.Random(2)
    trees = OrderedTrees(random_graph(with_cycles(7, rng), rng), PROBE)
    limits = Limits(1e-3, 1e-3)
    choice = choose_shape(trees, limits)
    assert not choice.qualifies
    overloads = [limits.overload(plan.cost) for plan in choice.looked_at]
    assert limits.overload(choice.plan.cost) == min(overloads)


def test_a_search_ends_after_so_many_plans_and_the_best_of_them_is_taken() -> None:
    rng = random.Random(5)
    trees = OrderedTrees(random_graph(with_cycles(9, rng), rng), PROBE)
    every = choose_shape(trees, Limits())
    assert not every.is_cut
    for count in range(1, len(every.looked_at)):
        choice = choose_shape(trees, Limits(), count)
        assert choice.looked_at == every.looked_at[:count]
        assert choice.is_cut
        least = min(plan.cost.processor for plan in choice.looked_at)
        assert choice.plan.cost.processor <= least * 1.02


def test_few_inputs_are_never_too_many_plans() -> None:
    trees = OrderedTrees(PUBLISHED[3], PROBE)
    choice = choose_shape(trees, Limits(1e9, 1e9), 1)
    assert (len(choice.looked_at), choice.is_cut) == (26, False)


def test_a_strategy_comes_to_its_end_however_many_inputs_there_are() -> None:
    """A set of inputs is 63 bits; a strategy compares at most as many plans as there are inputs."""
    assert MOST_PLANS >= 63


@pytest.mark.parametrize("count", [5, 9])
def test_a_plan_does_not_depend_on_how_fast_the_process_is(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line of the search takes a quarter of a second by every clock, in a slow process."""

    def found() -> tuple[object, int, bool]:
        rng = random.Random(4)
        trees = OrderedTrees(random_graph(with_cycles(count, rng), rng), PROBE)
        choice = choose_shape(trees, Limits(1e-3, 1e-3))
        return choice.plan, len(choice.looked_at), choice.is_cut

    fast, late = found(), [0.0]

    def slow(frame: FrameType, event: str, arg: object) -> Any:
        late[0] += 0.25
        return slow

    for clock in ("monotonic", "perf_counter", "process_time", "thread_time", "time"):
        now = getattr(time, clock)
        monkeypatch.setattr(time, clock, lambda now=now: now() + late[0])
    tracing = sys.gettrace()
    sys.settrace(slow)
    try:
        slowed = found()
    finally:
        sys.settrace(tracing)
    assert slowed == fast
    assert late[0] > 100


@pytest.mark.parametrize("seed", range(10))
def test_both_strategies_end_with_a_plan_that_qualifies_or_have_tried_all(seed: int) -> None:
    rng = random.Random(seed)
    trees = OrderedTrees(random_graph(with_cycles(7, rng), rng), JoinUnits(1.0, 1.0))
    mjoin = trees.cost(trees.at_once)
    limits = Limits(mjoin.processor * rng.uniform(0.3, 1.2), mjoin.memory * rng.uniform(1.1, 9))
    for way in (mjoin_init, bjtree_init):
        *before, _ = way(trees, limits)
        assert not any(limits.allow(plan.cost) for plan in before)


def test_of_many_inputs_later_plans_of_a_strategy_are_compared_too() -> None:
    """Every row has many partners: finding them again takes as long as storing them."""
    count = 6
    graph = JoinGraph.within((100.0,) * count, dict.fromkeys(chain(count), 0.05), 10)
    trees = OrderedTrees(graph, JoinUnits())
    choice = choose_shape(trees, Limits(1e30, 1e30))
    assert trees.at_once in {plan.shape for plan in choice.looked_at}
    least = min(plan.cost.processor for plan in choice.looked_at)
    assert choice.plan.cost.processor <= least * 1.02
    assert choice.plan.cost.memory < trees.cost(min_state(trees)).memory / 1000
