"""State-selection: from an MJoin that takes too much processor time to one that stores results.

Two inputs of the operator at the root get an operator of their own, whose results are stored and
not computed again for every row of the others. Which two: those whose edge is used by most join
orders, divided by the size of what would be stored. They are taken only if all inputs, ordered anew
with these two as one, take less processor time than before; the next best are tried otherwise. It
ends when the plan qualifies, when nothing lowers processor time, or before memory would exceed its
limit. An operator that reads another may swallow it (*widening*) if that lowers both.

The result takes no more processor time than the MJoin, and never more memory than there is. Every
plan stores what the MJoin stores: if that is too much there is no plan at all.
Spec: dynamic-optimization 2.5.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.optimizer.cost.joins import JoinCost
from penstock.optimizer.joins.ordered_trees import OrderedTrees, Shape, joining
from penstock.optimizer.joins.pareto import CostedShape, Limits


def state_selection(trees: OrderedTrees, limits: Limits) -> Iterator[CostedShape]:
    """The MJoin and what storing results makes of it, less processor time each; the last is best.

    None at all: the MJoin takes more memory than there is.
    """
    root: Shape = trees.at_once
    cost = trees.cost(root)
    if cost.memory >= limits.memory:
        return
    yield CostedShape(root, cost)
    while not limits.allow(cost):
        found = _accepted(trees, root, cost)
        if found is None or found.cost.memory >= limits.memory:
            return
        yield found
        root, cost = found


def _accepted(trees: OrderedTrees, root: Shape, cost: JoinCost) -> CostedShape | None:
    """The first candidate that lowers processor time, widened."""
    assert not isinstance(root, int)
    if len(root) == 2:
        return None
    for one, other in _candidates(trees, root):
        rest = [part for part in root if part not in (one, other)]
        pair = joining(one, other)
        new = joining(pair, *rest)
        change = trees.operator(new).cost + trees.operator(pair).cost
        found = cost - trees.operator(root).cost + change
        if found.processor < cost.processor:
            return _widened(trees, CostedShape(new, found), pair, rest)
    return None


def _candidates(trees: OrderedTrees, root: tuple[Shape, ...]) -> list[tuple[Shape, Shape]]:
    """Pairs of inputs with an edge, those first that many orders use and that take little."""
    operator = trees.operator(root)
    frequency: dict[tuple[int, int], int] = {}
    for tree in operator.ordering.trees:
        for one, near in enumerate(tree):
            for other in near:
                if one < other:
                    frequency[one, other] = frequency.get((one, other), 0) + 1
    weight = operator.load.weights
    ranked = sorted(
        frequency,
        key=lambda edge: frequency[edge] / (float(weight[edge]) or 1e-300),
        reverse=True,
    )
    return [(root[one], root[other]) for one, other in ranked]


def _widened(trees: OrderedTrees, plan: CostedShape, new: Shape, rest: list[Shape]) -> CostedShape:
    """The plan whose new operator swallows those that it reads, where that lowers both."""
    assert not isinstance(new, int)
    for child in new:
        if not isinstance(child, int):
            wider = joining(*child, *(part for part in new if part is not child))
            shape = joining(wider, *rest)
            cost = trees.cost(shape)
            if cost.processor < plan.cost.processor and cost.memory < plan.cost.memory:
                return _widened(trees, CostedShape(shape, cost), wider, rest)
    return plan
