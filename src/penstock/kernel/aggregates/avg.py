"""avg(x): the sum divided by the count, which it shares with sum(x) and count(x)."""

from __future__ import annotations

import polars as pl

from penstock.kernel.aggregates.count import Count
from penstock.kernel.aggregates.function import OfParts, PartialAggregate
from penstock.kernel.aggregates.sum import DoubleSum, Sum
from penstock.model.types import Type


class Avg(OfParts):
    """Always DOUBLE; of nothing it is NULL."""

    @property
    def parts(self) -> tuple[PartialAggregate, ...]:
        # A BIGINT sum can leave 64 bits where the average does not.
        summed = DoubleSum if self.of is Type.BIGINT else Sum
        return (summed(self.argument, self.of), Count(self.argument, self.of))

    def read(self, total: pl.Series, count: pl.Series) -> pl.Series:
        return total / count
