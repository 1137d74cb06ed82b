"""percentile(x, p) and median(x): exact, between the two values that p falls between.

No few numbers are enough for it: all values are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from penstock.kernel.aggregates.function import Function, PartialAggregate
from penstock.kernel.aggregates.grouping import Columns
from penstock.kernel.aggregates.lists import Listed, pack


@dataclass(frozen=True)
class Numbers(Listed):
    """All values, as DOUBLE."""

    kinds: ClassVar[tuple[str, ...]] = ("numbers",)

    def packed(self, rows: pl.DataFrame, size: int) -> pl.Series:
        return pack(rows, size, pl.Float64())


@dataclass(frozen=True)
class Percentile(Function):
    """The value below which a share of p lies."""

    @property
    def parts(self) -> tuple[PartialAggregate, ...]:
        return (Numbers(self.argument, self.of),)

    def result(self, partials: Columns) -> pl.Series:
        [share] = self.parameters
        [numbers] = self.parts
        at = pl.element().sort().quantile(share, interpolation="linear")
        found: pl.Series = numbers.result(partials).list.eval(at).list.first().cast(pl.Float64)
        return found
