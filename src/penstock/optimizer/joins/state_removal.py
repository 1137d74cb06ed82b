"""State-removal: from a tree of joins of two that takes too much memory to one that stores less.

An intermediate result need not be stored if the operator that reads it also does the work of the
one that makes it: both become one wider operator, ordered anew. In every round the state goes for
which processor time rises least, or falls most, by what it takes of memory. At the end one operator
is left, the MJoin.  Spec: dynamic-optimization 2.7.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.optimizer.cost.joins import JoinCost
from penstock.optimizer.joins.ordered_trees import OrderedTrees, Shape, joining
from penstock.optimizer.joins.pareto import CostedShape, Limits


def state_removal(trees: OrderedTrees, shape: Shape, limits: Limits) -> Iterator[CostedShape]:
    """A tree and what removing states makes of it, until one qualifies; the last is best."""
    plan = CostedShape(shape, trees.cost(shape))
    yield plan
    while not limits.allow(plan.cost):
        merges = [*_merges(trees, plan.shape)]
        if not merges:
            return
        shape, change = min(
            merges, key=lambda each: each[1].processor / max(-each[1].memory, 1e-300)
        )
        plan = CostedShape(shape, plan.cost + change)
        yield plan


def _merges(trees: OrderedTrees, shape: Shape) -> Iterator[tuple[Shape, JoinCost]]:
    """The shape with one state less, for each of its states, and what that changes."""
    if isinstance(shape, int):
        return
    for number, part in enumerate(shape):
        if not isinstance(part, int):
            rest = shape[:number] + shape[number + 1 :]
            merged = joining(*part, *rest)
            before = trees.operator(shape).cost + trees.operator(part).cost
            yield merged, trees.operator(merged).cost - before
            for below, change in _merges(trees, part):
                yield joining(below, *rest), change
