"""Filter-Order: order the output.

Rows are joined when they come, in whatever order that is between the inputs; results are held,
sorted by their later timestamp, and let out as far as both inputs have come. Processing overlaps
the waiting; the price is the hold buffer, and a window test for every pair.
Spec: ordered-joins 3.
"""

from __future__ import annotations

from penstock.kernel.block import Block
from penstock.kernel.joins.ordered_join import OrderedJoin
from penstock.kernel.operator import Output


class FilterOrder(OrderedJoin):
    """Results wait for the other input, rows never."""

    def _take(self, port: int, block: Block) -> None:
        found = self._join(port, block.rows)
        if found is not None:
            self._hold([found])

    def _let_out(self, out: Output) -> None:
        self._release(self.state.trigger, out)
        self._promise(out)
