"""Pruning: what keeps rows is given only the columns that somebody reads.

    Project a.v                              Project a.v
      Join a, b where a.k = b.k                Join a, b where a.k = b.k
        Source a (k, v, w, ts)                   Project k, v, ts
        Source b (k, v, w, ts)                     Source a (k, v, w, ts)
                                                 Project k, ts
                                                   Source b (k, v, w, ts)

Joins and sequences keep rows for long, and rows wait in front of windows that count rows of a
partition. A union that does not come to a join may wait for order, too, and is only as narrow as
all its inputs; it keeps what carries bounds besides, since it may be merged by that.

All queries are looked at together: a join that several of them share keeps what any of them needs,
and stays shared. One that changes its shape keeps what it has stored for others that run
(`stored_for_others`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.model.expressions import Named, Ref
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Queries
from penstock.optimizer.rules.stored_for_others import (
    Stored,
    below_projections,
    inputs_of,
    topmost_joins,
)
from penstock.plan import nodes
from penstock.plan.graph import columns_used, fold, walk
from penstock.windows import Partitioned


def prune(queries: Queries, options: Options, stored: Stored | None = None) -> Queries:
    """The queries with a Project in front of what would keep more columns than are needed.

    `stored`: what joins keep besides.
    """
    inputs = _below_joins(queries.values())
    besides = _besides(queries, stored or {})

    def reads(node: nodes.Node, used: frozenset[str]) -> tuple[frozenset[str], ...]:
        used |= besides.get(node, frozenset())
        return _reads(node, frozenset(node.schema.names) if node in inputs else used)

    used = columns_used(queries.values(), reads)

    def rebuilt(node: nodes.Node, children: tuple[nodes.Node, ...]) -> nodes.Node:
        if _keeps_rows(node):
            children = tuple(map(_only, children, reads(node, used[node])))
        if isinstance(node, nodes.Explode):
            # What is kept is there once for each element: not what nobody reads.
            node = replace(node, kept=tuple(name for name in node.kept if name in used[node]))
        if isinstance(node, nodes.Project):
            # What nobody reads may not be there to compute it from.
            asked = used[node] | besides.get(node, frozenset())
            read = tuple(column for column in node.columns if column.name in asked)
            node = node if len(read) == len(node.columns) else replace(node, columns=read)
        return node.with_children(children)

    return {name: fold(plan, rebuilt) for name, plan in queries.items()}


def _besides(queries: Queries, stored: Stored) -> dict[nodes.Node, frozenset[str]]:
    """By join, and by projection that passes its rows on, what it keeps for other queries."""
    found: dict[nodes.Node, frozenset[str]] = {}
    for name in stored.keys() & queries.keys():
        joins = {join: inputs_of(join) for join in topmost_joins(queries[name])}
        for node in walk(queries[name]):
            join = below_projections(node)
            if isinstance(join, nodes.Join) and join in joins:
                columns = stored[name].get(joins[join], frozenset()).intersection(node.schema.names)
                found[node] = found.get(node, frozenset()) | columns
    return found


def _below_joins(plans: Iterable[nodes.Node]) -> set[nodes.Node]:
    """Unions whose rows come to joins, which have a projection in front of them already.

    Which columns are read there depends on where conditions are tested, and joins that give way to
    others must read the same.
    """
    joins = [node for node in walk(*plans) if isinstance(node, nodes.Join)]
    return {node for node in walk(*joins) if isinstance(node, nodes.Union)}


def _keeps_rows(node: nodes.Node) -> bool:
    """Whether rows of the inputs are kept as they are."""
    if isinstance(node, nodes.WindowAggregate):
        return isinstance(node.window, Partitioned)
    return isinstance(node, nodes.Join | nodes.Sequence | nodes.Union)


def _reads(node: nodes.Node, used: frozenset[str]) -> tuple[frozenset[str], ...]:
    if isinstance(node, nodes.Union):
        # Columns match by position: the same ones stay of every input.
        used |= node.schema.progressing
    # Of rows that are only counted one column is read.
    reads = zip(node.children, node.reads(used), strict=True)
    return tuple(columns or frozenset(child.schema.names[:1]) for child, columns in reads)


def _only(node: nodes.Node, columns: frozenset[str]) -> nodes.Node:
    kept = [column for column in node.schema if column.name in columns]
    if len(kept) == len(node.schema):
        return node
    return nodes.Project(node, tuple(Named(c.name, Ref(c.name, c.type)) for c in kept))
