"""Preaggregating: what aggregates have in common whose rows may be aggregated elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from penstock.kernel.operator import Operator


class Preaggregating(Operator):
    """An aggregate that keeps the same of rows, whoever makes it of them."""

    def preaggregated(self, rows: pl.DataFrame) -> pl.DataFrame:
        """What is kept of rows that are ready for it; it depends on no state of the aggregate."""
        raise NotImplementedError

    def absorb(self, folded: pl.DataFrame) -> None:
        """Add what is kept of rows, none of which is late."""
        raise NotImplementedError

    def merged(self, folded: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """What is kept of all rows together, of what is kept of some; it depends on no state."""
        raise NotImplementedError
