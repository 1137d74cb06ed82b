"""Give every input of a union the union's own column names and types.

Union                          Union
  Source bids (item, price)      Source bids (item, price)
  Source asks (name, cost)       Project name AS item, CAST(cost AS DOUBLE) AS price
                                   Source asks (name, cost)
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model.expressions import Cast, Named, Ref
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Queries
from penstock.plan import nodes
from penstock.plan.graph import rewrite


def adapt_union_inputs(queries: Queries, options: Options) -> Queries:
    """The queries with a projection in front of unions where columns differ."""
    return {name: rewrite(plan, _adapted) for name, plan in queries.items()}


def _adapted(node: nodes.Node) -> nodes.Node:
    if not isinstance(node, nodes.Union):
        return node
    return replace(node, parts=tuple(adapt(part, node) for part in node.parts))


def adapt(part: nodes.Node, union: nodes.Union) -> nodes.Node:
    """An input with the union's own column names and types."""
    if [(c.name, c.type) for c in part.schema] == [(c.name, c.type) for c in union.schema]:
        return part
    return nodes.Project(
        part,
        tuple(
            Named(
                mine.name,
                Ref(theirs.name, theirs.type)
                if mine.type is theirs.type
                else Cast(Ref(theirs.name, theirs.type), mine.type),
            )
            for mine, theirs in zip(union.schema, part.schema, strict=True)
        ),
    )
