"""count(DISTINCT x), sum(DISTINCT x), avg(DISTINCT x), collect_set(x): read off the set of values.

All NaN are one value, and so are 0.0 and -0.0.
"""

from __future__ import annotations

import polars as pl

from penstock.kernel.aggregates.function import OfParts
from penstock.kernel.aggregates.grouping import Columns, Grouping
from penstock.kernel.aggregates.lists import GROUP, VALUE, Listed, as_json, rows_of


class Set(Listed):
    """The values, each once, in order."""

    kinds = ("set",)

    def elements(self, rows: Columns, groups: Grouping) -> pl.DataFrame:
        values = self.values(rows)
        if values.dtype.is_float():
            values = values + 0.0  # -0.0 becomes 0.0
        return rows_of(values, groups)

    def arranged(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.unique().sort(GROUP, VALUE)


class CountDistinct(OfParts):
    """How many different values; 0 where there is none."""

    keeps = (Set,)

    def read(self, values: pl.Series) -> pl.Series:
        found: pl.Series = values.list.len().fill_null(0).cast(pl.Int64)
        return found


class SumDistinct(OfParts):
    """The sum of the different values."""

    keeps = (Set,)

    def read(self, values: pl.Series) -> pl.Series:
        integers = self.of is not None and self.of.is_integer
        found: pl.Series = values.cast(pl.List(pl.Int64() if integers else pl.Float64())).list.sum()
        return found


class AvgDistinct(OfParts):
    """The average of the different values."""

    keeps = (Set,)

    def read(self, values: pl.Series) -> pl.Series:
        found: pl.Series = values.cast(pl.List(pl.Float64())).list.mean()
        return found


class CollectSet(OfParts):
    """The different values, in order, as JSON."""

    keeps = (Set,)

    def read(self, values: pl.Series) -> pl.Series:
        return as_json(values)
