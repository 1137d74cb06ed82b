"""min_by(x, y), max_by(x, y), and so first(x) and last(x): x where y is least or greatest.

Rows in which x or y is NULL do not count. Where several rows have the same y, the least or the
greatest x of them is taken: an answer never depends on the order in which rows came.
"""

from __future__ import annotations

import polars as pl

from penstock.kernel.aggregates.function import PartialAggregate
from penstock.kernel.aggregates.grouping import Columns, Grouping
from penstock.kernel.aggregates.lists import GROUP, of_all


class MinBy(PartialAggregate):
    """x where y is least."""

    kinds = ("least_x", "least_y")
    greatest = False

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        assert self.by is not None
        return self._pick(self.values(rows), rows[self.by], groups)

    def merge(self, partials: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        x, y = (partials[column] for column in self.columns)
        return self._pick(x, y, groups)

    def _pick(self, x: pl.Series, y: pl.Series, groups: Grouping) -> tuple[pl.Series, ...]:
        rows = pl.DataFrame([pl.Series(GROUP, groups.ids), x.alias("x"), y.alias("y")])
        rows = rows.drop_nulls().sort("y", "x", descending=self.greatest)
        picked = rows.unique(GROUP, keep="first", maintain_order=True)
        found = of_all(picked, groups.size)
        return found.get_column("x"), found.get_column("y")


class MaxBy(MinBy):
    """x where y is greatest."""

    kinds = ("greatest_x", "greatest_y")
    greatest = True
