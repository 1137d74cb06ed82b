"""Filter-Order: order the output.

Rows are joined when they come, in whatever order that is between the inputs; results are held,
sorted by their latest timestamp, and let out as far as all inputs have come. Processing overlaps
the waiting; the price is the hold buffer, and a window test for every pair.
Spec: ordered-joins 3.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.tactics.in_order import InOrder


class FilterOrder(InOrder):
    """Results wait for the other inputs, rows never."""

    name = "FilterOrder"

    def take(self, inputs: Inputs, port: int, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
        self.hold(inputs, self.meet(inputs, port, rows))
        return ()

    def release(self, inputs: Inputs) -> Iterable[pl.DataFrame]:
        return self.let_out(inputs)
