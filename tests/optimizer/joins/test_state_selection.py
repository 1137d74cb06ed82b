"""Storing results: less processor time than the MJoin, never more memory than there is."""

from __future__ import annotations

import itertools
import random

import pytest

from penstock.optimizer.cost.joins import JoinUnits
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.ordered_trees import OrderedTrees, joining
from penstock.optimizer.joins.pareto import Limits
from penstock.optimizer.joins.state_selection import state_selection
from tests.optimizer.joins.graphs import PUBLISHED, random_graph, with_cycles

PROBE = JoinUnits(mode="probe")


@pytest.mark.parametrize("seed", range(40))
def test_it_never_exceeds_memory_and_never_takes_more_processor_time(seed: int) -> None:
    rng = random.Random(seed)
    graph = random_graph(with_cycles(rng.randint(3, 8), rng), rng)
    trees = OrderedTrees(graph, JoinUnits(insert=rng.random(), delete=rng.random()))
    mjoin = trees.cost(trees.at_once)
    limits = Limits(mjoin.processor * rng.uniform(0.05, 1.1), mjoin.memory * rng.uniform(1.01, 50))
    plans = [*state_selection(trees, limits)]
    assert plans[0].shape == trees.at_once
    for before, after in itertools.pairwise(plans):
        assert after.cost.processor < before.cost.processor
        assert not limits.allow(before.cost)
    assert all(plan.cost.memory < limits.memory for plan in plans)
    assert [plan.cost.processor for plan in plans] == pytest.approx(
        [trees.cost(plan.shape).processor for plan in plans]
    )


def test_where_the_mjoin_takes_too_much_memory_there_is_no_plan() -> None:
    trees = OrderedTrees(PUBLISHED[4], PROBE)
    assert [*state_selection(trees, Limits(memory=4000))] == []
    assert [plan.shape for plan in state_selection(trees, Limits(memory=4001))] == [trees.at_once]


def test_a_plan_that_qualifies_is_left_alone() -> None:
    trees = OrderedTrees(PUBLISHED[4], PROBE)
    [plan] = state_selection(trees, Limits(1e9, 5000))
    assert plan.shape == trees.at_once


def test_in_the_published_setting_4_only_a_hybrid_qualifies() -> None:
    trees = OrderedTrees(PUBLISHED[4], PROBE)
    limits = Limits(processor=300e6, memory=50_000)
    *_, last = state_selection(trees, limits)
    assert last.shape == ((0, 1), 2, 3)
    assert limits.allow(last.cost)


def test_an_operator_that_is_read_by_the_new_one_is_swallowed_where_that_lowers_both() -> None:
    widened = 0
    for seed in range(30):
        rng = random.Random(seed)
        graph = random_graph(with_cycles(6, rng), rng)
        trees = OrderedTrees(graph, JoinUnits(insert=5.0, delete=5.0))
        *_, last = state_selection(trees, Limits(processor=1e-9))
        assert not isinstance(last.shape, int)
        widened += any(not isinstance(part, int) and len(part) > 2 for part in last.shape)
    assert widened > 0


def test_candidates_come_by_how_many_orders_use_them_over_what_they_take() -> None:
    """Few rows of the pair (2, 3) are stored, so it comes first; both orders and size decide."""
    graph = JoinGraph.within((10, 10, 10, 10), {(0, 1): 0.5, (1, 2): 0.4, (2, 3): 0.001}, 1.0)
    trees = OrderedTrees(graph, PROBE)
    _, second, *_ = state_selection(trees, Limits(processor=1e-9))
    assert second.shape == joining(0, 1, (2, 3))
