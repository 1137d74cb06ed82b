"""Filter-Order: order the output.

Rows are joined when they come, in whatever order that is between the inputs; results are held,
sorted by their latest timestamp, and let out as far as all inputs have come. Processing overlaps
the waiting; the price is the hold buffer, and a window test for every pair.
Spec: ordered-joins 3.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import polars as pl

from penstock.kernel.joins.tactics.in_order import InOrder

if TYPE_CHECKING:
    from penstock.kernel.joins.window_join import WindowJoin


class FilterOrder(InOrder):
    """Results wait for the other inputs, rows never."""

    name = "FilterOrder"

    def take(self, join: WindowJoin, port: int, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
        self.hold(join, self.meet(join, port, rows))
        return ()

    def release(self, join: WindowJoin) -> Iterable[pl.DataFrame]:
        return self.let_out(join)
