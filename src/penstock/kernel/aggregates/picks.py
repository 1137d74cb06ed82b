"""min_by(x, y), max_by(x, y), and so first(x) and last(x): x where y is least or greatest.

Rows in which x or y is NULL do not count. Where several rows have the same y, the least or the
greatest x of them is taken: an answer never depends on the order in which rows came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from penstock.kernel.aggregates.function import PartialAggregate
from penstock.kernel.aggregates.grouping import Columns, Grouping


@dataclass(frozen=True)
class MinBy(PartialAggregate):
    """x where y is least."""

    kinds: ClassVar[tuple[str, ...]] = ("least_x", "least_y")
    greatest: ClassVar[bool] = False

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        assert self.by is not None
        return self._pick(self.values(rows), rows[self.by], groups)

    def merge(self, partials: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        x, y = (partials[column] for column in self.columns)
        return self._pick(x, y, groups)

    def _pick(self, x: pl.Series, y: pl.Series, groups: Grouping) -> tuple[pl.Series, ...]:
        rows = pl.DataFrame([pl.Series("group", groups.ids), x.alias("x"), y.alias("y")])
        rows = rows.drop_nulls().sort("y", "x", descending=self.greatest)
        picked = rows.unique("group", keep="first", maintain_order=True)
        everyone = pl.DataFrame({"group": np.arange(groups.size)})
        found = everyone.join(picked, on="group", how="left", maintain_order="left")
        return found.get_column("x"), found.get_column("y")


@dataclass(frozen=True)
class MaxBy(MinBy):
    """x where y is greatest."""

    kinds: ClassVar[tuple[str, ...]] = ("greatest_x", "greatest_y")
    greatest: ClassVar[bool] = True
