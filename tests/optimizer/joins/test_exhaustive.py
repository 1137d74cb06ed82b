"""Every tree over the inputs of a join, once."""

from __future__ import annotations

import random

import pytest

from penstock.optimizer.cost.joins import JoinUnits
from penstock.optimizer.joins.exhaustive import all_shapes, exhaustive, whole_plans
from penstock.optimizer.joins.join_tree import leaves_of
from penstock.optimizer.joins.ordered_trees import OrderedTrees, Shape, joining
from penstock.optimizer.joins.pareto import Limits
from tests.optimizer.joins.graphs import PUBLISHED, random_graph, with_cycles

PROBE = JoinUnits(mode="probe")


def test_there_are_as_many_trees_as_are_known() -> None:
    shapes = {count: [*all_shapes(count)] for count in range(1, 7)}
    assert [len(each) for each in shapes.values()] == [1, 1, 4, 26, 236, 2752]
    assert all(len({*map(canonical, each)}) == len(each) for each in shapes.values())


def canonical(shape: Shape) -> Shape:
    return shape if isinstance(shape, int) else joining(*map(canonical, shape))


def test_shapes_are_trees_with_orders() -> None:
    trees = OrderedTrees(PUBLISHED[3], PROBE)
    for shape in all_shapes(4):
        assert canonical(shape) == shape
        assert sorted(leaves_of(trees.tree(shape))) == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(20))
def test_a_plan_is_found_whenever_there_is_one(seed: int) -> None:
    rng = random.Random(seed)
    trees = OrderedTrees(random_graph(with_cycles(4, rng), rng), JoinUnits(1.0, 1.0))
    costs = [trees.cost(shape) for shape in all_shapes(4)]
    for _ in range(20):
        one, other = rng.choices(costs, k=2)
        limits = Limits(one.processor * 1.001, other.memory * 1.001)
        found = exhaustive(trees, limits)
        assert (found is not None) == any(map(limits.allow, costs))
        assert found is None or limits.allow(found.cost)


def test_what_exceeds_both_limits_is_not_built_upon() -> None:
    trees = OrderedTrees(PUBLISHED[4], PROBE)
    everything = [*whole_plans(trees, Limits())]
    few = [*whole_plans(trees, Limits(processor=1e6, memory=5000))]
    assert len(everything) == 26
    assert len(few) < 26
    assert [*whole_plans(trees, Limits(1, 1))] == []
