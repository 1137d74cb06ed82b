"""Sync-Filter: order the input.

A row waits until the other inputs have come as far, so rows of all are joined as if they came in
one order, and results come out in order by themselves. Little memory; the faster stream's rows wait
for the slower one, and are all processed when it speaks.  Spec: ordered-joins 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import polars as pl

from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.tactics.in_order import InOrder, in_order_of_latest


class SyncFilter(InOrder):
    """Rows wait for the other inputs, results never."""

    name = "SyncFilter"

    def take(self, inputs: Inputs, port: int, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
        self.wait(inputs, port, rows)
        return ()

    def release(self, inputs: Inputs) -> Iterable[pl.DataFrame]:
        # Results are held only by a tactic that it has taken over from.
        held = self.let_out(inputs) if inputs.state.table("held").segments else ()
        found = self.join_waiting(inputs, inputs.state.trigger)
        return in_order_of_latest(inputs, chain(held, found))
