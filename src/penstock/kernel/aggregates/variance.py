"""var_samp, var_pop, stddev_samp, stddev_pop: all read off a group's moments.

The moments are m2, the sum of squared distances from the mean, the mean, and the count. Those of
several groups merge by Chan's rule: distances are taken anew from the common mean, which adds
n (mean - common)² for each. Nothing of the size of x² is ever subtracted, so values far from zero
keep their digits.  Spec: window-queries 4.2.
"""

from __future__ import annotations

import polars as pl

from penstock.kernel.aggregates.count import Count
from penstock.kernel.aggregates.function import OfParts, PartialAggregate
from penstock.kernel.aggregates.grouping import Columns, Grouping


class Moments(PartialAggregate):
    """m2 and the mean; the count is a part of its own."""

    kinds = ("m2", "mean")

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


class VarPop(OfParts):
    """The mean squared distance from the mean."""

    keeps = (Moments, Count)

    def read(self, m2: pl.Series, count: pl.Series) -> pl.Series:
        return m2 / count


class VarSamp(VarPop):
    """The same as an estimate from a sample: NULL for a single value."""

    def read(self, m2: pl.Series, count: pl.Series) -> pl.Series:
        degrees: pl.Series = (count - 1).set(count < 2, None)
        return m2 / degrees


class StddevPop(VarPop):
    """The root of var_pop."""

    def read(self, m2: pl.Series, count: pl.Series) -> pl.Series:
        return super().read(m2, count).sqrt()


class StddevSamp(VarSamp):
    """The root of var_samp."""

    def read(self, m2: pl.Series, count: pl.Series) -> pl.Series:
        return super().read(m2, count).sqrt()
