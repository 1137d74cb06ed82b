"""var_samp, var_pop, stddev_samp, stddev_pop: all read off a group's moments.

The moments are m2, the sum of squared distances from the mean, the mean, and the count. Those of
several groups merge by Chan's rule: distances are taken anew from the common mean, which adds
n (mean - common)² for each. Nothing of the size of x² is ever subtracted, so values far from zero
keep their digits.  Spec: window-queries 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from penstock.kernel.aggregates.count import Count
from penstock.kernel.aggregates.function import Function, PartialAggregate
from penstock.kernel.aggregates.grouping import Columns, Grouping


@dataclass(frozen=True)
class Moments(PartialAggregate):
    """m2 and the mean; the count is a part of its own."""

    kinds: ClassVar[tuple[str, ...]] = ("m2", "mean")

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        values = self.values(rows).cast(pl.Float64)
        mean = groups.sum(values) / groups.count(values)
        distance = values - groups.spread(mean)
        return groups.sum(distance * distance), mean

    def merge(self, partials: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        m2, mean = (partials[column] for column in self.columns)
        count = Count(self.argument, self.of).result(partials)
        common = groups.sum(count * mean) / groups.sum(count)
        distance = mean - groups.spread(common)
        return groups.sum(m2 + count * distance * distance), common


@dataclass(frozen=True)
class VarPop(Function):
    """The mean squared distance from the mean."""

    @property
    def parts(self) -> tuple[PartialAggregate, ...]:
        return (Moments(self.argument, self.of), Count(self.argument, self.of))

    def result(self, partials: Columns) -> pl.Series:
        m2, count = [part.result(partials) for part in self.parts]
        return m2 / count


@dataclass(frozen=True)
class VarSamp(VarPop):
    """The same as an estimate from a sample: NULL for a single value."""

    def result(self, partials: Columns) -> pl.Series:
        m2, count = [part.result(partials) for part in self.parts]
        degrees: pl.Series = (count - 1).set(count < 2, None)
        return m2 / degrees


@dataclass(frozen=True)
class StddevPop(VarPop):
    """The root of var_pop."""

    def result(self, partials: Columns) -> pl.Series:
        return super().result(partials).sqrt()


@dataclass(frozen=True)
class StddevSamp(VarSamp):
    """The root of var_samp."""

    def result(self, partials: Columns) -> pl.Series:
        return super().result(partials).sqrt()
