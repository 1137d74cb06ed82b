"""Which joins are asked to promise about the pair of their timestamps.

An aggregate over a join can close a group by such a promise if its window is on the one timestamp
and the other is among its groups: then the pair says of a whole group that it is over. Nobody else
has a use for pairs, so nobody else is sent any.  Spec: window-queries 6.4.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.plan import nodes
from penstock.plan.graph import trace, walk


def asked_for_pairs(plan: nodes.Node) -> Iterator[nodes.WindowJoin]:
    """The joins under aggregates that group by both timestamps."""
    for node in walk(plan):
        if not isinstance(node, nodes.WindowAggregate):
            continue
        timed = _origin(node.input, node.window.on)
        grouped = [_origin(node.input, group) for group in node.groups]
        if timed is None or timed[0].kind.is_one_sided:
            continue
        join, side = timed
        if (join, 1 - side) in grouped:
            yield join


def _origin(node: nodes.Node, column: str) -> tuple[nodes.WindowJoin, int] | None:
    """The join, and the side of it, of which a column is the timestamp."""
    found = trace(node, column, nodes.WindowJoin)
    if found is None:
        return None
    join, name = found
    names = [f"{name}.{on}" for name, on in zip(join.names, join.on, strict=True)]
    return (join, names.index(name)) if name in names else None
