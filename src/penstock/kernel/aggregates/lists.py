"""Lists as partials: for functions that cannot do with a few numbers per group.

A group's list is one value of a list column, so that it is stored, merged and moved like any other
partial. NULL is the list of nothing. To work on lists they are *unpacked* into (group, element)
rows, and *packed* again.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa

from penstock.kernel.aggregates.function import PartialAggregate
from penstock.kernel.aggregates.grouping import Columns, Grouping, Ids
from penstock.kernel.types import polars_type

GROUP, VALUE, COUNT = "group", "value", "count"


def rows_of(values: pl.Series, groups: Grouping) -> pl.DataFrame:
    """(group, value) for every value that is not NULL."""
    rows = pl.DataFrame([pl.Series(GROUP, groups.ids), values.alias(VALUE)])
    return rows.drop_nulls(VALUE) if values.null_count() else rows


def unpack(lists: pl.Series, ids: Ids) -> pl.DataFrame:
    """(group, value) for every element of lists that belong to these groups."""
    there = lists.is_not_null().to_numpy()
    lists, ids = lists.filter(pl.Series(there)), ids[there]
    lengths = lists.list.len().to_numpy().astype(np.int64)
    groups = pl.Series(GROUP, np.repeat(ids, lengths))
    return pl.DataFrame([groups, lists.explode().alias(VALUE)])


def lists_of(values: pl.Series, ids: Ids, size: int) -> pl.Series:
    """One list per group; `ids` are the groups of the values, in order."""
    lengths = np.bincount(ids, minlength=size)
    starts = pl.Series(np.concatenate(([0], np.cumsum(lengths))))
    # Arrays of Polars as Arrow, not of NumPy: for those Arrow imports pandas.
    parts = (starts.to_arrow(), values.to_arrow(compat_level=pl.CompatLevel.oldest()))
    lists = pa.LargeListArray.from_arrays(*parts, mask=pl.Series(lengths == 0).to_arrow())
    return pl.Series(VALUE, lists, pl.List(values.dtype))


def of_all(rows: pl.DataFrame, size: int) -> pl.DataFrame:
    """Rows of some groups, one each, with NULL for the others."""
    everyone = pl.DataFrame({GROUP: np.arange(size)})
    return everyone.join(rows, on=GROUP, how="left", maintain_order="left")


class Listed(PartialAggregate):
    """A list a group: made of `elements` of the rows, brought into shape by `arranged`."""

    @property
    def element(self) -> pl.DataType:
        """What lists are of."""
        assert self.of is not None
        return polars_type(self.of)

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        return (self.packed(self.elements(rows, groups), groups.size),)

    def merge(self, partials: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        return (self.packed(unpack(partials[self.columns[0]], groups.ids), groups.size),)

    def elements(self, rows: Columns, groups: Grouping) -> pl.DataFrame:
        """(group, value) for what every row brings."""
        return rows_of(self.values(rows), groups)

    def arranged(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The elements of each group as they stand in its list."""
        return rows

    def packed(self, rows: pl.DataFrame, size: int) -> pl.Series:
        """One list per group."""
        lists = self.arranged(rows).group_by(GROUP, maintain_order=True).agg(VALUE)
        found: pl.Series = of_all(lists, size).get_column(VALUE).cast(pl.List(self.element))
        return found


class Counted(Listed):
    """Lists of values with how often each occurs."""

    @property
    def element(self) -> pl.DataType:
        return pl.Struct({VALUE: super().element, COUNT: pl.Int64()})

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        found = self.elements(rows, groups).group_by(GROUP, VALUE)
        return (self.packed(found.agg(pl.len().cast(pl.Int64).alias(COUNT)), groups.size),)

    def merge(self, partials: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        found = entries(self.result(partials), groups.ids).group_by(GROUP, VALUE)
        return (self.packed(found.agg(pl.col(COUNT).sum()), groups.size),)

    def arranged(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.select(GROUP, pl.struct(VALUE, COUNT).alias(VALUE))


def entries(lists: pl.Series, ids: Ids) -> pl.DataFrame:
    """(group, value, count) for every element of lists of counted values."""
    return unpack(lists, ids).select(GROUP, pl.col(VALUE).struct.unnest())


def as_json(lists: pl.Series) -> pl.Series:
    """Lists as JSON text, since columns of a query have no list type; NULL is `[]`."""
    empty = pl.Series([[]], dtype=lists.dtype)
    filled = lists.to_frame("x").select(pl.coalesce("x", pl.lit(empty)).alias("x"))
    text = filled.select(pl.struct("x").struct.json_encode()).to_series()
    return text.str.strip_prefix('{"x":').str.strip_suffix("}")
