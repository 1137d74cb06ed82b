"""collect_list(x): all values as JSON, in the order of the window's attribute.

Values at the same place stand in their own order: an answer never depends on the order of arrival.
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
class Placed(Listed):
    """All values with their place, in order."""

    kinds: ClassVar[tuple[str, ...]] = ("placed",)

    @property
    def _element(self) -> pl.DataType:
        assert self.of is not None
        return pl.Struct({"at": pl.Int64(), "x": polars_type(self.of)})

    def elements(self, rows: Columns, groups: Grouping) -> pl.DataFrame:
        assert self.by is not None
        x, at = self.values(rows), rows[self.by].cast(pl.Int64)
        pairs = pl.DataFrame([at.alias("at"), x.alias("x")]).to_struct()
        there = (x.is_not_null() & at.is_not_null()).to_numpy()
        kept = Grouping(groups.ids[there], groups.size)
        return rows_of(pairs.filter(pl.Series(there)), kept)

    def packed(self, rows: pl.DataFrame, size: int) -> pl.Series:
        value = pl.col(VALUE).struct
        rows = rows.sort(GROUP, value.field("at"), value.field("x"))
        return pack(rows, size, self._element)


@dataclass(frozen=True)
class CollectList(OfPart):
    """The values in order."""

    keeps = Placed

    def result(self, partials: Columns) -> pl.Series:
        return as_json(self.kept(partials).list.eval(pl.element().struct.field("x")))
