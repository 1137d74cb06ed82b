"""Pruning: joins keep rows for long, so they are given only the columns that somebody reads.

All queries are looked at together: a join that several of them share keeps what any of them needs,
and stays shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.model.expressions import Named, Ref
from penstock.plan import nodes

Needed = dict[nodes.WindowJoin, frozenset[str]]


def pruned(queries: Mapping[str, nodes.Node]) -> dict[str, nodes.Node]:
    """The queries with a Project in front of every join input that brings more than is needed."""
    needed: Needed = {}
    for plan in queries.values():
        _look(plan, frozenset(plan.schema.names), needed)
    done: dict[nodes.Node, nodes.Node] = {}
    return {name: _rewritten(plan, needed, done) for name, plan in queries.items()}


def _look(node: nodes.Node, used: frozenset[str], needed: Needed) -> None:
    """Note what each join must give, where of a node's columns these are used."""
    match node:
        case nodes.Select():
            _look(node.input, used | node.predicate.refs, needed)
        case nodes.Project():
            kept = (c for c in node.columns if c.name in used)
            _look(node.input, frozenset(ref for c in kept for ref in c.value.refs), needed)
        case nodes.Ordered():
            _look(node.input, used | {node.on}, needed)
        case nodes.TableJoin():
            _look(node.input, of_stream(node, used), needed)
        case nodes.WindowJoin():
            needed[node] = needed.get(node, frozenset()) | used
            for side, columns in zip(node.children, _sides(node, used), strict=True):
                _look(side, columns, needed)
        case _:
            # Unions match columns by position, and aggregates name what they read.
            for below in node.children:
                _look(below, frozenset(below.schema.names), needed)


def _sides(join: nodes.WindowJoin, used: frozenset[str]) -> list[frozenset[str]]:
    """The columns that each side must bring, for these of the join's to be right."""
    residual = frozenset() if join.residual is None else join.residual.refs
    sides = []
    for number, (name, side) in enumerate(zip(join.names, join.children, strict=True)):
        read = {c for c in side.schema.names if f"{name}.{c}" in used | residual}
        keys = {pair[number] for pair in join.equalities}
        sides.append(frozenset(read | keys | {join.on[number]}))
    return sides


def of_stream(join: nodes.TableJoin, used: frozenset[str]) -> frozenset[str]:
    """The columns that the stream must bring to a static table, likewise."""
    name = join.names[0]
    residual = frozenset() if join.residual is None else join.residual.refs
    read = {c for c in join.input.schema.names if f"{name}.{c}" in used | residual}
    return frozenset(read | {mine for mine, _ in join.equalities})


def _rewritten(node: nodes.Node, needed: Needed, done: dict[nodes.Node, nodes.Node]) -> nodes.Node:
    if node in done:
        return done[node]
    match node:
        case nodes.Source():
            new: nodes.Node = node
        case nodes.Union():
            new = replace(node, parts=tuple(_rewritten(p, needed, done) for p in node.parts))
        case nodes.WindowJoin():
            left, right = (
                _only(_rewritten(side, needed, done), columns)
                for side, columns in zip(node.children, _sides(node, needed[node]), strict=True)
            )
            new = replace(node, left=left, right=right)
        case (
            nodes.Select()
            | nodes.Project()
            | nodes.Ordered()
            | nodes.WindowAggregate()
            | nodes.TableJoin()
        ):
            new = replace(node, input=_rewritten(node.input, needed, done))
        case _:
            new = node
    done[node] = new
    return new


def _only(node: nodes.Node, columns: Iterable[str]) -> nodes.Node:
    kept = [column for column in node.schema if column.name in set(columns)]
    if len(kept) == len(node.schema):
        return node
    return nodes.Project(node, tuple(Named(c.name, Ref(c.name, c.type)) for c in kept))
