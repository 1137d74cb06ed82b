"""Spread: how far apart two times of a row can lie, as the joins below have it.

Rows that a join has put together lie within its bands of each other. So where one of their times is
bounded, the others are: by the bands on the way. What is passed on keeps that.

    Join j, c  c.ts within 2 of j.b      j.a: the band of a and b, from what is known of j.b
      Join a, b  b.ts within 3 of a.ts
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.plan.nodes.node import Node
from penstock.windows import JoinBand

if TYPE_CHECKING:
    from penstock.plan.nodes.joins import Join

Bands = tuple[tuple[JoinBand, int], ...]
"""Bands in the order in which a bound goes through them, each with the side that it comes out."""


def spread(node: Node, known: str, asked: str) -> Bands | None:
    """The bands from a column whose bound is known to another; None: nothing is said of it."""
    if known == asked:
        return ()
    if hasattr(node, "edges"):
        return _in_join(node, known, asked)  # type: ignore[arg-type]
    if len(node.children) != 1:
        return None
    below = [next(iter(node.lineage(column)), None) for column in (known, asked)]
    if below[0] is None or below[1] is None:
        return None
    return spread(node.children[0], below[0].column, below[1].column)


def _in_join(join: Join, known: str, asked: str) -> Bands | None:
    found: dict[str, Bands] = {known: ()}
    reached = [known]
    for column in reached:
        for other, bands in _next(join, column, asked):
            if other not in found:
                found[other] = (*found[column], *bands)
                reached.append(other)
    return found.get(asked)


def _next(join: Join, column: str, asked: str) -> Iterator[tuple[str, Bands]]:
    """Columns that lie within a band of one, or within those of the input that both are of."""
    for edge in join.edges:
        if column == edge.left:
            yield edge.right, ((edge.band, 1),)
        if column == edge.right:
            yield edge.left, ((edge.band, 0),)
    child, own = join.origin(column)
    for other in dict.fromkeys((*(e.left for e in join.edges), *join.times, asked)):
        of, name = join.origin(other)
        if of == child:
            bands = spread(join.inputs[child], own, name)
            if bands is not None:
                yield other, bands
