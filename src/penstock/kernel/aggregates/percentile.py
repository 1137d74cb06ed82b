"""percentile(x, p) and median(x): exact, between the two values that p falls between.

No few numbers are enough for it: all values are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from penstock.kernel.aggregates.function import OfPart
from penstock.kernel.aggregates.grouping import Columns
from penstock.kernel.aggregates.lists import Listed, pack


@dataclass(frozen=True)
class Numbers(Listed):
    """All values, as DOUBLE."""

    kinds: ClassVar[tuple[str, ...]] = ("numbers",)

    def packed(self, rows: pl.DataFrame, size: int) -> pl.Series:
        return pack(rows, size, pl.Float64())


@dataclass(frozen=True)
class Percentile(OfPart):
    """The value below which a share of p lies."""

    keeps = Numbers

    def result(self, partials: Columns) -> pl.Series:
        [share] = self.parameters
        at = pl.element().sort().quantile(share, interpolation="linear")
        found: pl.Series = self.kept(partials).list.eval(at).list.first().cast(pl.Float64)
        return found
