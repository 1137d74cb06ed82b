"""OrderedTrees: shapes of a join with the best orders in every operator, and what they cost.

While optimisers look for a tree they handle bare *shapes*: an input's number, or a tuple of shapes
that one operator joins. What an operator costs depends only on which sets of inputs it joins, so it
is computed once, whatever the trees that have it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.optimizer.cost.joins import NOTHING, JoinCost, JoinUnits, OperatorLoad
from penstock.optimizer.joins.inputs import Inputs
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.join_tree import Branch, JoinTree
from penstock.optimizer.joins.mjoin_ordering import MJoinOrders, mjoin_ordering

Shape: TypeAlias = "int | tuple[Shape, ...]"


@dataclass(frozen=True)
class OrderedOperator:
    """One operator with its orders."""

    load: OperatorLoad
    ordering: MJoinOrders
    cost: JoinCost


@dataclass(frozen=True)
class OrderedTrees:
    """Costs of shapes over one join graph."""

    graph: JoinGraph
    units: JoinUnits
    _operators: dict[tuple[Inputs, ...], OrderedOperator] = field(default_factory=dict, init=False)
    _inputs: dict[Shape, Inputs] = field(default_factory=dict, init=False)

    def inputs(self, shape: Shape) -> Inputs:
        """The inputs below a shape."""
        if isinstance(shape, int):
            return 1 << shape
        if shape not in self._inputs:
            self._inputs[shape] = sum(map(self.inputs, shape))
        return self._inputs[shape]

    def operator(self, parts: Iterable[Shape]) -> OrderedOperator:
        """The operator that joins these: in the order of their least inputs."""
        joined = tuple(map(self.inputs, parts))
        found = self._operators.get(joined)
        if found is None:
            load = OperatorLoad.of(self.graph, joined)
            ordering = mjoin_ordering(load, self.units)
            found = OrderedOperator(load, ordering, load.cost(ordering.work, self.units))
            self._operators[joined] = found
        return found

    def cost(self, shape: Shape) -> JoinCost:
        """What all operators of a shape take together."""
        if isinstance(shape, int):
            return NOTHING
        total = self.operator(shape).cost
        for part in shape:
            if not isinstance(part, int):
                total += self.cost(part)
        return total

    def tree(self, shape: Shape) -> JoinTree:
        """The shape with its orders."""
        if isinstance(shape, int):
            return shape
        orders = self.operator(shape).ordering.orders if len(shape) > 2 else ()
        return Branch(tuple(map(self.tree, shape)), orders)

    def with_orders(self, tree: JoinTree) -> JoinTree:
        """A tree with the best orders in its wide operators."""
        return self.tree(shape_of_tree(tree))

    @property
    def at_once(self) -> tuple[Shape, ...]:
        """One operator over all inputs: the MJoin."""
        return tuple(range(self.graph.count))


def shape_of_tree(tree: JoinTree) -> Shape:
    """A tree without its orders."""
    return tree if isinstance(tree, int) else tuple(map(shape_of_tree, tree.inputs))


def in_order(shape: Shape) -> Shape:
    """The same operators, each with its inputs in the order of their least.

    >>> in_order((2, (1, 0)))
    ((0, 1), 2)
    """
    return shape if isinstance(shape, int) else joining(*map(in_order, shape))


def joining(*parts: Shape) -> tuple[Shape, ...]:
    """The shape of an operator over these, in the order of their least inputs."""
    return tuple(sorted(parts, key=least))


def least(shape: Shape) -> int:
    """The least input below a shape.

    >>> least(((1, 4), 3))
    1
    """
    while not isinstance(shape, int):
        shape = shape[0]
    return shape
