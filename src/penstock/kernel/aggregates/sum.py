"""sum(x): BIGINT of integers, DOUBLE of anything else."""

from __future__ import annotations

import polars as pl

from penstock.kernel.aggregates.function import Additive
from penstock.kernel.aggregates.grouping import Columns, Grouping


class Sum(Additive):
    """A sum of nothing is NULL, not 0. One beyond 64 bits wraps around, as in Spark."""

    kinds = ("sum",)

    @property
    def is_exact(self) -> bool:
        """Whether integers are added up, so that what was added can be taken away again."""
        return self.of is not None and self.of.is_integer

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        # Adding up in the column's own type could overflow where the result does not.
        return (groups.sum(self.values(rows).cast(pl.Int64 if self.is_exact else pl.Float64)),)


class DoubleSum(Sum):
    """The sum as DOUBLE also of integers: it loses digits, but cannot wrap around."""

    kinds = ("double_sum",)

    @property
    def is_exact(self) -> bool:
        return False
