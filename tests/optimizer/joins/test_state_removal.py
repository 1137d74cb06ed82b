"""Removing states: less memory with every round, down to the MJoin."""

from __future__ import annotations

import random

import pytest

from penstock.optimizer.cost.joins import JoinUnits
from penstock.optimizer.joins.min_state import min_state
from penstock.optimizer.joins.ordered_trees import OrderedTrees
from penstock.optimizer.joins.pareto import Limits
from penstock.optimizer.joins.state_removal import state_removal
from tests.optimizer.joins.graphs import PUBLISHED, random_graph, with_cycles


@pytest.mark.parametrize("seed", range(30))
def test_every_round_stores_one_result_less_until_all_is_one_operator(seed: int) -> None:
    rng = random.Random(seed)
    graph = random_graph(with_cycles(rng.randint(3, 8), rng), rng)
    trees = OrderedTrees(graph, JoinUnits(insert=1.0, delete=1.0))
    plans = [*state_removal(trees, min_state(trees), Limits(processor=1e-9))]
    assert len(plans) == graph.count - 1  # n - 2 intermediate states
    assert plans[-1].shape == trees.at_once
    memory = [plan.cost.memory for plan in plans]
    assert memory == sorted(memory, reverse=True)


def test_it_ends_with_the_first_plan_that_qualifies() -> None:
    trees = OrderedTrees(PUBLISHED[3], JoinUnits(mode="probe"))
    tree_of_two = ((0, 1), (2, 3))
    [as_it_is] = state_removal(trees, tree_of_two, Limits(2e6, 6000))
    assert as_it_is.shape == tree_of_two
    hybrid = [*state_removal(trees, tree_of_two, Limits(2e6, 3000))][-1]
    assert hybrid.shape in [(0, 1, (2, 3)), ((0, 1), 2, 3)]
    mjoin = [*state_removal(trees, tree_of_two, Limits(3e6, 700))][-1]
    assert mjoin.shape == (0, 1, 2, 3)


def test_the_state_goes_that_costs_least_by_what_it_takes() -> None:
    """Setting 4: results of CD take most memory, and hardly more is computed without them."""
    trees = OrderedTrees(PUBLISHED[4], JoinUnits(mode="probe"))
    _, second, *_ = state_removal(trees, ((0, 1), (2, 3)), Limits(processor=1))
    assert second.shape == ((0, 1), 2, 3)
