"""sum(x): BIGINT of integers, DOUBLE of anything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from penstock.kernel.aggregates.function import Additive
from penstock.kernel.aggregates.grouping import Columns, Grouping


@dataclass(frozen=True)
class Sum(Additive):
    """A sum of nothing is NULL, not 0. One beyond 64 bits wraps around, as in Spark."""

    kinds: ClassVar[tuple[str, ...]] = ("sum",)

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        integers = self.of is not None and self.of.is_integer
        # Adding up in the column's own type could overflow where the result does not.
        return (groups.sum(self.values(rows).cast(pl.Int64 if integers else pl.Float64)),)


@dataclass(frozen=True)
class DoubleSum(Additive):
    """The sum as DOUBLE also of integers: it loses digits, but cannot wrap around."""

    kinds: ClassVar[tuple[str, ...]] = ("double_sum",)

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        return (groups.sum(self.values(rows).cast(pl.Float64)),)
