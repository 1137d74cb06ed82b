"""In-order processing: every stream is put in order before anything else.

    WindowAggregate count(*)          WindowAggregate count(*)
      Source bids (slack 1 minute)      Ordered by ts
                                          Source bids (slack 1 minute)

Out of order (OOP), nobody sorts: rows pass as they come and punctuation tells how far a stream is.
In order (IOP), rows that may come out of order wait behind their source until nothing earlier can
come (a slack sort, BSort), and unions merge. Both give the same answers; what order costs in memory
and time is hidden in the sorts and merges, and this makes it visible.
Spec: window-queries 7.1, 7.3.
"""

from __future__ import annotations

from penstock.model.streams import TimestampKind
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Queries
from penstock.plan.graph import rewrite
from penstock.plan.nodes import Node, Ordered, Source


def in_order(queries: Queries, options: Options) -> Queries:
    """The queries with a sort behind each stream whose rows may come out of order."""
    return (
        {name: rewrite(plan, _sorted) for name, plan in queries.items()}
        if options.mode == "iop"
        else queries
    )


def _sorted(node: Node) -> Node:
    if not isinstance(node, Source):
        return node
    stream = node.stream
    disordered = stream.kind is TimestampKind.EXTERNAL and not stream.is_ordered
    return Ordered(node, str(stream.timestamp)) if disordered else node
