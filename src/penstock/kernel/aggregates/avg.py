"""avg(x): the sum divided by the count, which it shares with sum(x) and count(x)."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from penstock.kernel.aggregates.count import Count
from penstock.kernel.aggregates.function import Function, PartialAggregate
from penstock.kernel.aggregates.grouping import Columns
from penstock.kernel.aggregates.sum import DoubleSum, Sum
from penstock.model.types import Type


@dataclass(frozen=True)
class Avg(Function):
    """Always DOUBLE; of nothing it is NULL."""

    @property
    def parts(self) -> tuple[PartialAggregate, ...]:
        # A BIGINT sum can leave 64 bits where the average does not.
        summed = DoubleSum if self.of is Type.BIGINT else Sum
        return (summed(self.argument, self.of), Count(self.argument, self.of))

    def result(self, partials: Columns) -> pl.Series:
        total, count = (part.result(partials) for part in self.parts)
        return total / count
