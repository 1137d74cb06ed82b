"""JoinTree: in which shape the inputs of a join of many meet.

A leaf is the number of an input; a branch is one operator, whose inputs are leaves or results of
other operators:

    (0, 1, 2)          MJoin: all at once, nothing but rows of inputs is stored
    (((0, 1), 2), 3)   joins of two, left-deep: results of each are stored for the next
    ((0, 1), 2, 3)     in between: results of (0, 1) are an input beside 2 and 3

In which order an operator asks its other inputs for partners of a row is a part of the shape; an
operator without orders chooses for every block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

JoinTree: TypeAlias = "int | Branch"


@dataclass(frozen=True)
class Branch:
    """One operator over two inputs and more.

    `orders` has for every input, by its place among `inputs`, the places of the others in the order
    in which its rows meet them.
    """

    inputs: tuple[JoinTree, ...]
    orders: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        assert len(self.inputs) >= 2, "a join has two inputs or more"
        leaves = [leaf for each in self.inputs for leaf in leaves_of(each)]
        assert len({*leaves}) == len(leaves), f"an input twice: {leaves}"
        places = range(len(self.inputs))
        assert not self.orders or [sorted((n, *order)) for n, order in enumerate(self.orders)] == [
            [*places] for _ in places
        ], f"orders do not name every other input once: {self.orders}"

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.inputs))})"


def leaves_of(tree: JoinTree) -> tuple[int, ...]:
    """The inputs below a part of a tree, as they stand there.

    >>> leaves_of(Branch((Branch((2, 0)), 1)))
    (2, 0, 1)
    """
    if isinstance(tree, int):
        return (tree,)
    return tuple(leaf for each in tree.inputs for leaf in leaves_of(each))


def branches_of(tree: JoinTree) -> Iterator[Branch]:
    """The operators of a tree, those whose results others read first."""
    if isinstance(tree, Branch):
        for each in tree.inputs:
            yield from branches_of(each)
        yield tree


def left_deep(count: int) -> JoinTree:
    """Joins of two, in the order in which the inputs are written.

    >>> print(left_deep(4))
    (((0, 1), 2), 3)
    """
    tree: JoinTree = 0
    for leaf in range(1, count):
        tree = Branch((tree, leaf))
    return tree


def at_once(count: int) -> Branch:
    """One operator over all.

    >>> print(at_once(3))
    (0, 1, 2)
    """
    return Branch(tuple(range(count)))


def tree_as_json(tree: JoinTree) -> Any:
    """A tree of numbers, lists and names.

    >>> tree_as_json(Branch((0, Branch((1, 2)))))
    {'inputs': [0, {'inputs': [1, 2]}]}
    """
    if isinstance(tree, int):
        return tree
    found: dict[str, Any] = {"inputs": [tree_as_json(each) for each in tree.inputs]}
    return {**found, "orders": [[*order] for order in tree.orders]} if tree.orders else found


def tree_from_json(data: Any, count: int) -> JoinTree:
    """The tree that was written so; ValueError if it is not one over so many inputs."""
    tree = _read(data)
    if sorted(leaves_of(tree)) != [*range(count)]:
        raise ValueError(f"{tree} is not a join of {count} inputs")
    return tree


def _read(data: Any) -> JoinTree:
    if isinstance(data, int):
        return data
    orders = (tuple(order) for order in data.get("orders", ()))
    return Branch(tuple(map(_read, data["inputs"])), tuple(orders))
