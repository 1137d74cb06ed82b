"""collect_list(x): all values as JSON, in the order of the rows' event time.

Values at the same place stand in their own order: an answer never depends on the order of arrival.
"""

from __future__ import annotations

import polars as pl

from penstock.kernel.aggregates.function import OfParts
from penstock.kernel.aggregates.grouping import Columns, Grouping
from penstock.kernel.aggregates.lists import GROUP, VALUE, Listed, as_json


class Placed(Listed):
    """All values with their place, in order."""

    kinds = ("placed",)

    @property
    def element(self) -> pl.DataType:
        return pl.Struct({"at": pl.Int64(), "x": super().element})

    def elements(self, rows: Columns, groups: Grouping) -> pl.DataFrame:
        assert self.by is not None
        x, at = self.values(rows), rows[self.by].cast(pl.Int64)
        found = pl.DataFrame([pl.Series(GROUP, groups.ids), at.alias("at"), x.alias("x")])
        return found.drop_nulls().select(GROUP, pl.struct("at", "x").alias(VALUE))

    def arranged(self, rows: pl.DataFrame) -> pl.DataFrame:
        value = pl.col(VALUE).struct
        return rows.sort(GROUP, value.field("at"), value.field("x"))


class CollectList(OfParts):
    """The values in order."""

    keeps = (Placed,)

    def read(self, placed: pl.Series) -> pl.Series:
        return as_json(placed.list.eval(pl.element().struct.field("x")))
