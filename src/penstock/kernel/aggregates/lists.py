"""Lists as partials: for functions that cannot do with a few numbers per group.

A group's list is one value of a list column, so that it is stored, merged and moved like any other
partial. NULL is the list of nothing. To work on lists they are *unpacked* into (group, element)
rows, and *packed* again.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates.function import PartialAggregate
from penstock.kernel.aggregates.grouping import Columns, Grouping, Ids

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


def pack(rows: pl.DataFrame, size: int, of: pl.DataType) -> pl.Series:
    """One list per group, in the order of the rows."""
    lists = rows.group_by(GROUP, maintain_order=True).agg(VALUE)
    everyone = pl.DataFrame({GROUP: np.arange(size)})
    packed = everyone.join(lists, on=GROUP, how="left", maintain_order="left")
    lists_of_all: pl.Series = packed.get_column(VALUE).cast(pl.List(of))
    return lists_of_all


@dataclass(frozen=True)
class Listed(PartialAggregate):
    """A list a group: made of `elements` of the rows, brought into shape by `packed`."""

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        return (self.packed(self.elements(rows, groups), groups.size),)

    def merge(self, partials: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        return (self.packed(unpack(partials[self.columns[0]], groups.ids), groups.size),)

    def elements(self, rows: Columns, groups: Grouping) -> pl.DataFrame:
        """(group, value) for what every row brings."""
        return rows_of(self.values(rows), groups)

    @abstractmethod
    def packed(self, rows: pl.DataFrame, size: int) -> pl.Series:
        """One list per group."""


@dataclass(frozen=True)
class Counted(Listed):
    """Lists of values with how often each occurs."""

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        found = self.elements(rows, groups).group_by(GROUP, VALUE)
        return (self.packed(found.agg(pl.len().cast(pl.Int64).alias(COUNT)), groups.size),)

    def merge(self, partials: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        found = entries(self.result(partials), groups.ids).group_by(GROUP, VALUE)
        return (self.packed(found.agg(pl.col(COUNT).sum()), groups.size),)


def entries(lists: pl.Series, ids: Ids) -> pl.DataFrame:
    """(group, value, count) for every element of lists of counted values."""
    return unpack(lists, ids).select(GROUP, pl.col(VALUE).struct.unnest())


def as_json(lists: pl.Series) -> pl.Series:
    """Lists as JSON text, since columns of a query have no list type; NULL is `[]`."""
    empty = pl.Series([[]], dtype=lists.dtype)
    filled = lists.to_frame("x").select(pl.coalesce("x", pl.lit(empty)).alias("x"))
    text = filled.select(pl.struct("x").struct.json_encode()).to_series()
    return text.str.strip_prefix('{"x":').str.strip_suffix("}")
