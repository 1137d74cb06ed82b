"""Min-state: least memory among trees of joins of two, for stars; not for all graphs."""

from __future__ import annotations

import random

from penstock.optimizer.cost.joins import JoinUnits
from penstock.optimizer.joins.exhaustive import all_shapes
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.min_state import min_state
from penstock.optimizer.joins.ordered_trees import OrderedTrees, Shape
from tests.optimizer.joins.graphs import Edges, chain, random_graph, star

UNITS = JoinUnits()


def of_two(trees: OrderedTrees, shape: Shape, *, cartesian: bool) -> bool:
    """Whether a shape has only joins of two, and only over predicates unless Cartesian."""
    if isinstance(shape, int):
        return True
    if len(shape) != 2 or not all(of_two(trees, part, cartesian=cartesian) for part in shape):
        return False
    return cartesian or trees.graph.are_linked(*map(trees.inputs, shape))


def suboptimal(edges: Edges, count: int, *, cartesian: bool = False) -> tuple[int, float]:
    """In how many random graphs there is a tree that takes less memory, and the worst ratio."""
    missed, worst = 0, 1.0
    shapes = [*all_shapes(len(edges) + 1)]
    for seed in range(count):
        trees = OrderedTrees(random_graph(edges, random.Random(seed)), UNITS)
        best = min(
            stored(trees, shape) for shape in shapes if of_two(trees, shape, cartesian=cartesian)
        )
        ratio = stored(trees, min_state(trees, cartesian=False)) / best
        missed, worst = missed + (ratio > 1 + 1e-9), max(worst, ratio)
    return missed, worst


def stored(trees: OrderedTrees, shape: Shape) -> float:
    """Rows of results that are stored."""
    if isinstance(shape, int):
        return 0.0
    own = sum(trees.graph.size(trees.inputs(part)) for part in shape)
    return own + sum(stored(trees, part) for part in shape)


def test_it_is_optimal_for_stars_without_cartesian_products() -> None:
    assert suboptimal(star(5), 25)[0] == 0


def test_for_stars_with_cartesian_products_it_is_not() -> None:
    assert suboptimal(star(5), 25, cartesian=True)[0] > 0


def test_for_chains_it_is_not() -> None:
    missed, worst = suboptimal(chain(5), 40)
    assert missed > 2
    assert worst > 1.05


def test_the_smallest_results_are_joined_first() -> None:
    graph = JoinGraph.within((10, 10, 10, 10), {(0, 1): 0.5, (1, 2): 0.4, (2, 3): 0.01}, 1.0)
    assert min_state(OrderedTrees(graph, UNITS)) == (0, (1, (2, 3)))
