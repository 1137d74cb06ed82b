"""count(DISTINCT x), sum(DISTINCT x), avg(DISTINCT x), collect_set(x): read off the set of values.

All NaN are one value, and so are 0.0 and -0.0.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from penstock.kernel.aggregates.decimal_sum import average, piece_of, pieces, whole
from penstock.kernel.aggregates.function import OfParts
from penstock.kernel.aggregates.grouping import Columns, Grouping, Ids, take_values
from penstock.kernel.aggregates.keys import MOST_CODES, Codes, code_column, code_integers, combine
from penstock.kernel.aggregates.lists import (
    GROUP,
    VALUE,
    Listed,
    as_json,
    lists_of,
    rows_of,
    unpack,
)
from penstock.kernel.decimals import of_units
from penstock.model.decimals import sum_type
from penstock.model.types import DecimalType


class Set(Listed):
    """The values, each once; numbers are in order."""

    kinds = ("set",)

    def elements(self, rows: Columns, groups: Grouping) -> pl.DataFrame:
        values = self.values(rows)
        if values.dtype.is_float():
            values = values + 0.0  # -0.0 becomes 0.0
        return rows_of(values, groups)

    def packed(self, rows: pl.DataFrame, size: int) -> pl.Series:
        values, ids = rows.get_column(VALUE).cast(self.element), rows.get_column(GROUP).to_numpy()
        return lists_of(*distinct(values, ids, size), size)


def distinct(values: pl.Series, ids: Ids, size: int) -> tuple[pl.Series, Ids]:
    """The different values of each of so many groups, and their groups, which are in order.

    >>> distinct(pl.Series([7, 5, 7, 5]), np.array([1, 1, 1, 0]), 2)[0].to_list()
    [5, 5, 7]
    """
    groups = Codes(ids, size)
    if values.dtype.is_integer():
        codes = code_integers(values.cast(pl.Int64).to_numpy())
        if size * codes.size <= MOST_CODES:
            # The code of group and value together is a number from which both can be read.
            found = combine((groups, codes), len(ids)).occurring()
            of_group, above = np.divmod(found, codes.size)
            return pl.Series(above + codes.low).cast(values.dtype), of_group
    one = combine((groups, code_column(values)), len(ids)).groups().members
    return take_values(values, one), ids[one]


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
        if isinstance(self.of, DecimalType):
            return of_units(_totals(values, self.of), sum_type(self.of))
        integers = self.of is not None and self.of.is_integer
        found: pl.Series = values.cast(pl.List(pl.Int64() if integers else pl.Float64())).list.sum()
        return found


class AvgDistinct(OfParts):
    """The average of the different values."""

    keeps = (Set,)

    def read(self, values: pl.Series) -> pl.Series:
        if isinstance(self.of, DecimalType):
            count = values.list.len().fill_null(0)
            return average(_totals(values, self.of), count, self.of)
        found: pl.Series = values.cast(pl.List(pl.Float64())).list.mean()
        return found


def _totals(sets: pl.Series, of: DecimalType) -> pl.Series:
    """The sum of each set of decimals as a whole number; NULL of none."""
    rows = unpack(sets, np.arange(len(sets)))
    groups = Grouping(rows.get_column(GROUP).to_numpy(), len(sets))
    count = pieces(of)
    values = rows.get_column(VALUE)
    total = whole([groups.sum(piece_of(values, piece, count)) for piece in range(count)])
    return total.set(sets.is_null(), None)


class CollectSet(OfParts):
    """The different values, in order, as JSON."""

    keeps = (Set,)

    def read(self, values: pl.Series) -> pl.Series:
        return as_json(values.list.sort())
