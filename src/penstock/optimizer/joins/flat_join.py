"""FlatJoin: a join as it is asked for, whatever tree of joins it has become.

Inner joins whose results are inputs of inner joins are one join of all their inputs: columns of
joins keep their names, and what stands in between only leaves columns out, or sorts.

    Join … where b.y = c.y                Join a, b, c where a.x = b.x, b.y = c.y
      Project a.v, b.y                      a
        Join a, b where a.x = b.x           b
      c                                     c
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.model.expressions import Expression, Ref
from penstock.model.joins import JoinKind, qualified
from penstock.plan.nodes import Edge, Join, Node, Ordered, Project
from penstock.plan.nodes.node import ChildColumn


@dataclass(frozen=True)
class FlatInput:
    """An input that is not an inner join of the same: its name, and the column of its time."""

    node: Node
    name: str
    on: str


@dataclass(frozen=True)
class FlatJoin:
    """All inputs, and all that rows of them must satisfy."""

    inputs: tuple[FlatInput, ...]
    edges: tuple[Edge, ...]
    equalities: tuple[tuple[str, str], ...]
    conditions: tuple[Expression, ...]
    kind: JoinKind

    def origins(self) -> dict[str, ChildColumn]:
        """By column of the join, its input, and what it is called there."""
        return self._origins

    @cached_property
    def _origins(self) -> dict[str, ChildColumn]:
        return {
            qualified(each.name, column): ChildColumn(number, column)
            for number, each in enumerate(self.inputs)
            for column in each.node.schema.names
        }


def flat_join(join: Join) -> FlatJoin:
    """A join with all the inputs that it has by others."""
    inputs: list[FlatInput] = []
    edges, equalities, conditions = [*join.edges], [*join.equalities], [*join.conditions]
    for child, name, on, below in zip(join.inputs, join.names, join.on, merged(join), strict=True):
        if below is None:
            inputs.append(FlatInput(child, name, on))
            continue
        part = flat_join(below)
        inputs += part.inputs
        edges += part.edges
        equalities += part.equalities
        conditions += part.conditions
    return FlatJoin(tuple(inputs), tuple(edges), tuple(equalities), tuple(conditions), join.kind)


def merged(join: Join) -> list[Join | None]:
    """For each input, the join that it is and whose inputs are the join's as well."""
    if join.kind is not JoinKind.INNER:
        return [None] * len(join.inputs)
    named = zip(join.inputs, join.names, strict=True)
    below = [None if name else join_below(child) for child, name in named]
    return [each if each and each.kind is JoinKind.INNER else None for each in below]


def join_below(node: Node) -> Join | None:
    """The join whose results a node passes on as they are."""
    while isinstance(node, Ordered) or (isinstance(node, Project) and _passes_on(node)):
        node = node.input
    return node if isinstance(node, Join) else None


def _passes_on(node: Project) -> bool:
    return all(isinstance(c.value, Ref) and c.value.name == c.name for c in node.columns)
