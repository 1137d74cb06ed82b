"""Exhaustive: every tree of operators over the inputs of a join, built up input by input.

A partial plan over the first inputs is extended by the next, in two ways: as one more input of any
of its operators, or by a join of two on top of any of its parts, be that an input, an intermediate
result or the whole. Every tree comes out once: 1, 1, 4, 26, 236, 2752, 39208 for 1 to 7 inputs.

A partial plan that exceeds both limits is dropped, since what is added only makes plans take more.
Spec: dynamic-optimization 2.9. There plans over every subset of the inputs are extended; those that
lack an input never become a whole plan, because only inputs of higher numbers are added.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.optimizer.joins.ordered_trees import OrderedTrees, Shape
from penstock.optimizer.joins.pareto import CostedShape, Limits


def exhaustive(trees: OrderedTrees, limits: Limits) -> CostedShape | None:
    """The first plan that qualifies; None: there is none."""
    return next((plan for plan in whole_plans(trees, limits) if limits.allow(plan.cost)), None)


def whole_plans(trees: OrderedTrees, limits: Limits) -> Iterator[CostedShape]:
    """Plans over all inputs, but for those that grow out of what exceeds both limits."""
    plans: list[CostedShape] = [CostedShape(0, trees.cost(0))]
    for number in range(1, trees.graph.count):
        extended = (
            CostedShape(shape, trees.cost(shape))
            for plan in plans
            for shape in extensions(plan.shape, number)
        )
        if number == trees.graph.count - 1:
            yield from extended
            return
        plans = [
            plan
            for plan in extended
            if plan.cost.memory < limits.memory or plan.cost.processor < limits.processor
        ]
    yield from plans


def all_shapes(count: int) -> Iterator[Shape]:
    """Every shape over so many inputs.

    >>> [sum(1 for _ in all_shapes(count)) for count in range(1, 6)]
    [1, 1, 4, 26, 236]
    """
    if count == 1:
        yield 0
        return
    for shape in all_shapes(count - 1):
        yield from extensions(shape, count - 1)


def extensions(shape: Shape, new: int) -> Iterator[Shape]:
    """A shape with one input more; its number is higher than all that are there.

    >>> list(extensions((0, 1), 2))
    [((0, 1), 2), (0, 1, 2), ((0, 2), 1), (0, (1, 2))]
    """
    yield (shape, new)
    if not isinstance(shape, int):
        yield (*shape, new)
        for number, part in enumerate(shape):
            for extended in extensions(part, new):
                yield (*shape[:number], extended, *shape[number + 1 :])
