"""Shapes of joins: all of them, or one at random."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.optimizer.joins.join_tree import Branch, JoinTree
from tests.engine.draw import Draw


def all_trees(leaves: Sequence[int]) -> Iterator[JoinTree]:
    """Every shape over these inputs, whatever order inputs of an operator stand in.

    >>> [sum(1 for _ in all_trees(range(n))) for n in range(1, 6)]
    [1, 1, 4, 26, 236]
    """
    if len(leaves) == 1:
        yield leaves[0]
    for parts in _partitions(list(leaves)):
        if len(parts) > 1:
            for inputs in _choices(parts):
                yield Branch(inputs)


def _partitions(leaves: list[int]) -> Iterator[list[list[int]]]:
    if not leaves:
        yield []
        return
    first, *others = leaves
    for rest in _partitions(others):
        yield [[first], *rest]
        for place, part in enumerate(rest):
            yield [[first, *part], *rest[:place], *rest[place + 1 :]]


def _choices(parts: list[list[int]]) -> Iterator[tuple[JoinTree, ...]]:
    if not parts:
        yield ()
        return
    for first in all_trees(parts[0]):
        for others in _choices(parts[1:]):
            yield (first, *others)


def any_tree(draw: Draw, leaves: Sequence[int]) -> JoinTree:
    """A shape at random, inputs of its operators in any order."""
    left, parts = list(leaves), []
    while left:
        most = min(len(left), len(leaves) - 1)
        size = draw.choose([1, 1, most, draw.between(1, most)])
        parts.append([left.pop(draw.between(0, len(left) - 1)) for _ in range(size)])
    inputs = tuple(part[0] if len(part) == 1 else any_tree(draw, part) for part in parts)
    return Branch(inputs)


def with_orders(draw: Draw, tree: JoinTree) -> JoinTree:
    """The same shape, whose operators have orders at random."""
    if isinstance(tree, int):
        return tree
    inputs = tuple(with_orders(draw, each) for each in tree.inputs)
    orders = []
    for place in range(len(inputs)):
        others = [each for each in range(len(inputs)) if each != place]
        orders.append(tuple(others.pop(draw.between(0, len(others) - 1)) for _ in inputs[1:]))
    return Branch(inputs, tuple(orders))
