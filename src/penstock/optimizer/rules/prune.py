"""Pruning: joins keep rows for long, so they are given only the columns that somebody reads.

    Project a.v                              Project a.v
      Join a, b where a.k = b.k                Join a, b where a.k = b.k
        Source a (k, v, w, ts)                   Project k, v, ts
        Source b (k, v, w, ts)                     Source a (k, v, w, ts)
                                                 Project k, ts
                                                   Source b (k, v, w, ts)

All queries are looked at together: a join that several of them share keeps what any of them needs,
and stays shared.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model.expressions import Named, Ref
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Queries
from penstock.plan import nodes
from penstock.plan.graph import columns_used, fold


def prune(queries: Queries, options: Options) -> Queries:
    """The queries with a Project in front of every join input that brings more than is needed."""
    used = columns_used(queries.values(), _reads)

    def rebuilt(node: nodes.Node, children: tuple[nodes.Node, ...]) -> nodes.Node:
        if isinstance(node, nodes.Join | nodes.Sequence):
            children = tuple(map(_only, children, node.reads(used[node])))
        if isinstance(node, nodes.Explode):
            # What is kept is there once for each element: not what nobody reads.
            node = replace(node, kept=tuple(name for name in node.kept if name in used[node]))
        if isinstance(node, nodes.Project):
            # What nobody reads may not be there to compute it from.
            read = tuple(column for column in node.columns if column.name in used[node])
            node = node if len(read) == len(node.columns) else replace(node, columns=read)
        return node.with_children(children)

    return {name: fold(plan, rebuilt) for name, plan in queries.items()}


def _reads(node: nodes.Node, used: frozenset[str]) -> tuple[frozenset[str], ...]:
    if isinstance(node, nodes.Union):
        # Columns match by position, so all of them stay.
        return tuple(frozenset(part.schema.names) for part in node.parts)
    # Of rows that are only counted one column is read.
    reads = zip(node.children, node.reads(used), strict=True)
    return tuple(columns or frozenset(child.schema.names[:1]) for child, columns in reads)


def _only(node: nodes.Node, columns: frozenset[str]) -> nodes.Node:
    kept = [column for column in node.schema if column.name in columns]
    if len(kept) == len(node.schema):
        return node
    return nodes.Project(node, tuple(Named(c.name, Ref(c.name, c.type)) for c in kept))
