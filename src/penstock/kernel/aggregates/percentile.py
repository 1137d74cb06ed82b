"""percentile(x, p) and median(x): exact, between the two values that p falls between.

No few numbers are enough for it: all values are kept.
"""

from __future__ import annotations

import polars as pl

from penstock.kernel.aggregates.function import OfParts
from penstock.kernel.aggregates.grouping import Columns, Grouping
from penstock.kernel.aggregates.lists import Listed, rows_of


class Numbers(Listed):
    """All values, as DOUBLE."""

    kinds = ("numbers",)

    element = pl.Float64()

    def elements(self, rows: Columns, groups: Grouping) -> pl.DataFrame:
        return rows_of(self.values(rows).cast(pl.Float64), groups)


class Percentile(OfParts):
    """The value below which a share of p lies."""

    keeps = (Numbers,)

    def read(self, numbers: pl.Series) -> pl.Series:
        [share] = self.parameters
        at = pl.element().sort().quantile(share, interpolation="linear")
        found: pl.Series = numbers.list.eval(at).list.first().cast(pl.Float64)
        return found
