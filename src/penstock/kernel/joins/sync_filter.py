"""Sync-Filter: order the input.

A row waits until the other input has come as far, so rows of both are joined as if they came in one
order, and results come out in order by themselves. Little memory; the faster stream's rows wait for
the slower one, and are all processed when it speaks.  Spec: ordered-joins 2.
"""

from __future__ import annotations

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.joins.ordered_join import LATER, OrderedJoin
from penstock.kernel.operator import Output


class SyncFilter(OrderedJoin):
    """Rows wait for the other input, results never."""

    def _take(self, port: int, block: Block) -> None:
        self.state.queue(port).append_sorted(block.rows)

    def _let_out(self, out: Output) -> None:
        results = self._join_waiting(self.state.trigger)
        if results:
            rows = pl.concat(results).with_columns(self._later)
            out.batch(Block(rows.sort(LATER, maintain_order=True).drop(LATER)))
        self._promise(out)
