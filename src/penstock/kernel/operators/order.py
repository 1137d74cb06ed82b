"""Order: rows come out sorted, each as soon as no lower one can come.

Rows wait in segments sorted by time; a promise lets those below its bound out, in order, and goes
on behind them. A row at the bound waits: others at the same time may still come. A row without a
time has no place in the order and passes at once. Segments of about one size are merged, so that a
row is copied a logarithmic number of times.  Spec: window-queries 7.1, 7.3 (hidden costs of order).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.operator import Operator, Output
from penstock.kernel.sorted_segments import append_sorted, take_below
from penstock.kernel.state import State, Table
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING


@dataclass
class OrderState(State):
    """Rows that wait, and the bound below which none do."""

    waiting: Table = field(default_factory=Table)
    bound: int = BEGINNING


class Order(Operator):
    """Sorts by a progressing column."""

    state: OrderState

    def __init__(self, on: str) -> None:
        super().__init__()
        self.state = OrderState()
        self._on = on

    def useful(self, wanted: frozenset[str] | None) -> frozenset[str]:
        return frozenset([self._on])

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        rows = block.rows
        if rows.get_column(self._on).null_count():
            out.batch(Block(rows.filter(pl.col(self._on).is_null())))
            rows = rows.drop_nulls(self._on)
        append_sorted(self.state.waiting, rows, self._on)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        if punctuation.on != self._on or punctuation.bound <= self.state.bound:
            return
        self.state.bound = punctuation.bound
        rows = take_below(self.state.waiting, self._on, punctuation.bound)
        if rows is not None:
            out.batch(Block(rows.sort(self._on, maintain_order=True)))
        out.punctuation(punctuation)
