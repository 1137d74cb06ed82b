"""In-order processing: the same plan with every stream put in order first.

Out of order (OOP), nobody sorts: rows pass as they come and punctuation tells how far a stream is.
In order (IOP), rows that may come out of order wait behind their source until nothing earlier can
come (a slack sort, BSort), and unions merge. Both give the same answers; what order costs in memory
and time is hidden in the sorts and merges, and this makes it visible.
Spec: window-queries 7.1, 7.3.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model.streams import TimestampKind
from penstock.plan.nodes import (
    Node,
    Ordered,
    Project,
    Select,
    Source,
    TableJoin,
    Union,
    WindowAggregate,
    WindowJoin,
)


def in_order(plan: Node) -> Node:
    """The plan with a sort behind each stream whose rows may come out of order."""
    match plan:
        case Source():
            stream = plan.stream
            disordered = stream.kind is TimestampKind.EXTERNAL and not stream.is_ordered
            return Ordered(plan, str(stream.timestamp)) if disordered else plan
        case Union():
            return replace(plan, parts=tuple(map(in_order, plan.parts)))
        case WindowJoin():
            return replace(plan, left=in_order(plan.left), right=in_order(plan.right))
        case Select() | Project() | WindowAggregate() | TableJoin() | Ordered():
            return replace(plan, input=in_order(plan.input))
    return plan
