"""What an order holds back when a box changes: rows that have met nobody yet, and results.

Rows come to the new box as if they came now. Results that are found already wait in the new box if
it keeps an order, too; else they leave. Only a box of one join holds anything back.
Spec: ordered-joins 2 to 5.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.graph import GraphNode
from penstock.kernel.migration.box import Box, join_at


def move_held_back(old: Box, new: Box) -> None:
    """Have the new box go on with what the old one holds back."""
    join = join_at(new.joins[-1])
    held = [rows.select(join.inputs.found) for rows in _held(old.joins[-1])]
    join.put(join.tactic.take_over(join.inputs, held), new.joins[-1].output)
    for port, rows in _waiting(old.joins[-1]):
        on = old.inputs[old.joins[-1], port].on
        at = new.leaves[on]
        at.join.put(at.join.tactic.take(at.join.inputs, at.port, rows), at.node.output)


def _held(node: GraphNode) -> Iterator[pl.DataFrame]:
    join = join_at(node)
    return join.tactic.held_results(join.inputs)


def _waiting(node: GraphNode) -> Iterator[tuple[int, pl.DataFrame]]:
    join = join_at(node)
    yield from join.tactic.waiting(join.inputs)
    for port, cursor in enumerate(node.inputs):
        yield from ((port, item.rows) for item in cursor.unread() if isinstance(item, Block))
