"""count(DISTINCT x), sum(DISTINCT x), avg(DISTINCT x), collect_set(x): read off the set of values.

All NaN are one value, and so are 0.0 and -0.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from penstock.kernel.aggregates.function import OfPart
from penstock.kernel.aggregates.grouping import Columns, Grouping
from penstock.kernel.aggregates.lists import GROUP, VALUE, Listed, as_json, pack, rows_of
from penstock.kernel.types import polars_type


@dataclass(frozen=True)
class Set(Listed):
    """The values, each once, in order."""

    kinds: ClassVar[tuple[str, ...]] = ("set",)

    def elements(self, rows: Columns, groups: Grouping) -> pl.DataFrame:
        values = self.values(rows)
        if values.dtype.is_float():
            values = values + 0.0  # -0.0 becomes 0.0
        return rows_of(values, groups)

    def packed(self, rows: pl.DataFrame, size: int) -> pl.Series:
        assert self.of is not None
        return pack(rows.unique().sort(GROUP, VALUE), size, polars_type(self.of))


@dataclass(frozen=True)
class OfSet(OfPart):
    """A function of the set of values."""

    keeps = Set


@dataclass(frozen=True)
class CountDistinct(OfSet):
    """How many different values; 0 where there is none."""

    def result(self, partials: Columns) -> pl.Series:
        found: pl.Series = self.kept(partials).list.len().fill_null(0).cast(pl.Int64)
        return found


@dataclass(frozen=True)
class SumDistinct(OfSet):
    """The sum of the different values."""

    def result(self, partials: Columns) -> pl.Series:
        integers = self.of is not None and self.of.is_integer
        wide = pl.Int64() if integers else pl.Float64()
        found: pl.Series = self.kept(partials).cast(pl.List(wide)).list.sum()
        return found


@dataclass(frozen=True)
class AvgDistinct(OfSet):
    """The average of the different values."""

    def result(self, partials: Columns) -> pl.Series:
        found: pl.Series = self.kept(partials).cast(pl.List(pl.Float64())).list.mean()
        return found


@dataclass(frozen=True)
class CollectSet(OfSet):
    """The different values, in order, as JSON."""

    def result(self, partials: Columns) -> pl.Series:
        return as_json(self.kept(partials))
