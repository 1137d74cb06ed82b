"""Spread: how far apart two times of a row can lie, as the joins below have it.

Rows that a join has put together lie within its bands of each other. So where one of their times is
bounded, the others are: by the bands on the way. What is passed on keeps that.

    Join j, c  c.ts within 2 of j.b      j.a: the band of a and b, from what is known of j.b
      Join a, b  b.ts within 3 of a.ts
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.model.joins import qualified
from penstock.plan.nodes.node import Node
from penstock.windows import JoinBand

if TYPE_CHECKING:
    from penstock.plan.nodes.joins import Join

Bands = tuple[tuple[JoinBand, int], ...]
"""Bands in the order in which a bound goes through them, each with the side that it comes out."""


def spreads(node: Node, known: str) -> dict[str, Bands]:
    """The columns that lie within bands of one whose bound is known, and these bands.

    Found once for a node: joins stand on joins, and each of them asks.
    """
    found: dict[str, dict[str, Bands]] = node.__dict__.setdefault("_spreads", {})
    if known not in found:
        found[known] = _found(node, known)
    return found[known]


def _found(node: Node, known: str) -> dict[str, Bands]:
    if hasattr(node, "edges"):
        return _in_join(node, known)  # type: ignore[arg-type]
    origins = node.lineage(known) if len(node.children) == 1 else ()
    below = spreads(node.children[0], origins[0].column) if origins else {}
    if len(below) < 2:
        return {known: ()}
    columns = {name: node.lineage(name)[:1] for name in node.schema.names}
    return {n: below[o[0].column] for n, o in columns.items() if o and o[0].column in below}


def _in_join(join: Join, known: str) -> dict[str, Bands]:
    found: dict[str, Bands] = {known: ()}
    reached = [known]
    for column in reached:
        for other, bands in _next(join, column):
            if other not in found:
                found[other] = (*found[column], *bands)
                reached.append(other)
    return found


def _next(join: Join, column: str) -> Iterator[tuple[str, Bands]]:
    """Columns that lie within a band of one, or within those of the input that both are of."""
    for edge in join.edges:
        if column == edge.left:
            yield edge.right, ((edge.band, 1),)
        if column == edge.right:
            yield edge.left, ((edge.band, 0),)
    child, own = join.origin(column)
    below = spreads(join.inputs[child], own)
    if len(below) > 1:
        yield from ((qualified(join.names[child], name), bands) for name, bands in below.items())
