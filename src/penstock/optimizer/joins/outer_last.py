"""Outer last: an inner join of what a left join gives, as a left join of what the inner join gives.

    Join a-b, c                          Join left a-c, b
      Join left a, b                       Join a, c
      c                                    b

Where the inner join asks nothing of `b`, neither in time nor in keys and conditions, a row of `a`
meets the same rows of `c` with and without its partner: both give every row of `a` beside each of
its `c` and each of its `b`, or beside nothing where there is no `b`. So the left join can wait
until the others have met. Where something is asked of `b`, rows without one would be lost that the
left join adds, and it stays where it is.
Spec: dynamic-optimization 2.1.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model.expressions import Named, Ref
from penstock.model.joins import JoinKind, qualified
from penstock.plan.nodes import Join, Node, Project


def outer_last(join: Join, name: str) -> tuple[Join, Join] | None:
    """The inner join and the left join over it, if an input goes by the name that can wait."""
    for number, left in enumerate(join.inputs):
        if not isinstance(left, Join) or left.kind is not JoinKind.LEFT:
            continue
        first, second = left.names
        theirs = {qualified(second, column) for column in left.inputs[1].schema.names}
        if second.lower() != name.lower() or theirs & _asked(join) or join.names[number]:
            continue
        inputs, names = list(join.inputs), list(join.names)
        inputs[number], names[number] = left.inputs[0], first
        inner = replace(join, inputs=tuple(inputs), names=tuple(names))
        return inner, over(inner, left)
    return None


def over(inner: Node, left: Join) -> Join:
    """A left join whose left input is what an inner join of that gives."""
    return replace(left, inputs=(inner, left.inputs[1]), names=("", left.names[1]))


def with_columns_of(join: Join, made: Node) -> Node:
    """The rows with the columns of a join, in its order."""
    if made.schema.names == join.schema.names:
        return made
    return Project(made, tuple(Named(c.name, Ref(c.name, c.type)) for c in join.schema))


def _asked(join: Join) -> frozenset[str]:
    """The columns that decide which rows a join puts together."""
    times = (column for edge in join.edges for column in (edge.left, edge.right))
    equal = (column for pair in join.equalities for column in pair)
    return frozenset(times).union(equal, *(condition.refs for condition in join.conditions))
