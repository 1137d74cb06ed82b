"""Columns that joins of one query go on storing for others when their shape changes.

Queries that run together share joins, which store what any of them reads (`prune`). They are
altered one after the other; if each kept only its own columns then, no join would be shared any
more. So one that is altered keeps those that others read of joins of the same inputs, in whatever
shape these are; but none that it has not stored so far:

    q0 reads a.v, q1 reads b.v, and both the join ((a, b), c), which stores a.v and b.v
    q0 is altered to (a, (b, c)), which stores a.v and b.v
    q1 is altered, too, and finds it
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

from penstock.model.expressions import Ref
from penstock.model.joins import JoinKind, qualified
from penstock.optimizer.physical import Queries
from penstock.plan import nodes
from penstock.plan.graph import columns_used, streams_of, walk

Inputs: TypeAlias = frozenset[tuple[str, frozenset[str]]]
"""What a join of any shape reads: by name, streams."""

Stored: TypeAlias = Mapping[str, Mapping[Inputs, frozenset[str]]]
"""By query and by what its joins read, columns that they store in any case."""


def stored_for_others(running: Queries, changing: Collection[str]) -> Stored:
    """What queries that change go on storing; `running` are all that stay, as they run now."""
    used = columns_used(running.values())
    read: dict[Inputs, frozenset[str]] = {}
    for plan in running.values():
        for top in topmost_joins(plan):
            inputs = inputs_of(top)
            read[inputs] = read.get(inputs, frozenset()) | used[top]

    def of_query(plan: nodes.Node) -> dict[Inputs, frozenset[str]]:
        found = {inputs_of(top): top for top in topmost_joins(plan)}
        all_stay = _below_windows(plan)
        return {
            inputs: _stored(top) if top in all_stay else _stored(top) & read[inputs]
            for inputs, top in found.items()
        }

    return {name: of_query(running[name]) for name in changing}


def topmost_joins(plan: nodes.Node) -> list[nodes.Join]:
    """The inner joins of a query that are no inputs of others."""
    joins = [node for node in walk(plan) if isinstance(node, nodes.Join) and _is_inner(node)]
    read = {below_projections(child) for join in joins for child in join.inputs}
    return [join for join in joins if join not in read]


def inputs_of(join: nodes.Join) -> Inputs:
    """What a join and those below it read."""
    return frozenset((name, frozenset(streams_of(leaf))) for name, leaf in _leaves(join))


def _leaves(join: nodes.Join) -> Iterator[tuple[str, nodes.Node]]:
    for name, child in zip(join.names, join.inputs, strict=True):
        below = below_projections(child)
        if isinstance(below, nodes.Join) and _is_inner(below):
            yield from _leaves(below)
        else:
            yield name, child


def _below_windows(plan: nodes.Node) -> set[nodes.Node]:
    """What is aggregated: panes may have values of others, that have gone, and go on."""
    found = set()
    for node in walk(plan):
        if isinstance(node, nodes.WindowAggregate):
            child = below_projections(node.input)
            while isinstance(child, nodes.Select):
                child = below_projections(child.input)
            found.add(child)
    return found


def _stored(join: nodes.Join) -> frozenset[str]:
    return frozenset(qualified(name, c) for name, leaf in _leaves(join) for c in leaf.schema.names)


def below_projections(node: nodes.Node) -> nodes.Node:
    """What comes through projections that only leave out columns."""
    while isinstance(node, nodes.Project):
        if any(not isinstance(c.value, Ref) or c.value.name != c.name for c in node.columns):
            return node
        [node] = node.children
    return node


def _is_inner(join: nodes.Join) -> bool:
    return join.kind is JoinKind.INNER
