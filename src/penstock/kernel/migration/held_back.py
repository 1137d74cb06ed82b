"""What an order holds back when a box changes: rows that have met nobody yet, and results.

Rows come to the new box as if they came now. Results that are found already wait in the new box if
it keeps an order, too; else they leave. Only a box of one join holds anything back.
Spec: ordered-joins 2 to 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.graph import GraphNode
from penstock.kernel.migration.box import Box, join_at
from penstock.kernel.operators.project import Project


def move_held_back(old: Box, new: Box) -> None:
    """Have the new box go on with what the old one holds back."""
    join = join_at(new.joins[-1])
    held = list(_held(old.joins[-1]))
    if join.tactic.is_plain:  # what was found leaves at once, as the new box puts it out
        for rows in held:
            new.root.output.batch(Block(rows.select(_put_out(new))))
    else:
        held = [rows.select(join.inputs.found) for rows in held]
        join.put(join.tactic.take_over(join.inputs, held), new.joins[-1].output)
    for port, rows in _waiting(old.joins[-1]):
        on = old.inputs[old.joins[-1], port].on
        at = new.leaves[on]
        at.join.put(at.join.tactic.take(at.join.inputs, at.port, rows), at.node.output)


def _put_out(box: Box) -> Sequence[str]:
    """The columns of a box's results."""
    if isinstance(box.root.operator, Project):
        return box.root.operator.names
    inputs = join_at(box.joins[-1]).inputs
    return inputs.found if inputs.output is None else inputs.output


def _held(node: GraphNode) -> Iterator[pl.DataFrame]:
    join = join_at(node)
    return join.tactic.held_results(join.inputs)


def _waiting(node: GraphNode) -> Iterator[tuple[int, pl.DataFrame]]:
    join = join_at(node)
    yield from join.tactic.waiting(join.inputs)
    for port, cursor in enumerate(node.inputs):
        yield from ((port, item.rows) for item in cursor.unread() if isinstance(item, Block))
