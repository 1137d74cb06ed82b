"""approx_percentile(x, p): DDSketch, within 1 % of the value, in a few hundred buckets per group.

Values are counted in buckets whose ends grow by 2 %, for positive and negative numbers apart, so
the middle of a bucket is within 1 % of every value in it. Buckets of several groups merge by adding
up counts. The number of buckets follows the ratio of the largest to the smallest value, not how
many values there are.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from penstock.kernel.aggregates.function import OfParts
from penstock.kernel.aggregates.grouping import Columns, Grouping
from penstock.kernel.aggregates.lists import COUNT, GROUP, VALUE, Counted, entries, of_all, rows_of

#: How far an answer may lie from the value, as a share of it.
ACCURACY = 0.01
_GROWTH = math.log((1 + ACCURACY) / (1 - ACCURACY))
#: Bucket numbers of positive numbers are around this, so that 0 is for zero.
_MIDDLE = 1 << 20
#: Behind all others: infinity, and behind it NaN.
_INFINITE, _NAN = 1 << 22, (1 << 22) + 1


class Buckets(Counted):
    """Every bucket that is not empty, with its count."""

    kinds = ("buckets",)
    element = pl.Struct({VALUE: pl.Int64(), COUNT: pl.Int64()})

    def elements(self, rows: Columns, groups: Grouping) -> pl.DataFrame:
        found = rows_of(self.values(rows).cast(pl.Float64), groups)
        numbers = bucket_of(found.get_column(VALUE).to_numpy())
        return found.select(GROUP).hstack([pl.Series(VALUE, numbers)])

    def arranged(self, rows: pl.DataFrame) -> pl.DataFrame:
        return super().arranged(rows.sort(GROUP, VALUE))


class ApproxPercentile(OfParts):
    """A value near the one below which a share of p lies."""

    keeps = (Buckets,)

    def read(self, buckets: pl.Series) -> pl.Series:
        [share] = self.parameters
        rows = entries(buckets, np.arange(len(buckets)))
        count = pl.col(COUNT)
        rank = (share * (count.sum() - 1)).floor().over(GROUP)
        rows = rows.filter(count.cum_sum().over(GROUP) > rank)
        rows = rows.unique(GROUP, keep="first", maintain_order=True)
        middles = pl.Series(VALUE, middle_of(rows.get_column(VALUE).to_numpy()))
        return of_all(rows.with_columns(middles), len(buckets)).get_column(VALUE)


def bucket_of(numbers: np.ndarray) -> np.ndarray:
    """The bucket of each number; numbers in order are in buckets in order."""
    with np.errstate(all="ignore"):
        size = np.ceil(np.log(np.abs(numbers)) / _GROWTH) + _MIDDLE
        size = np.where(numbers == 0, 0, size)
        size = np.where(np.isinf(numbers), _INFINITE, size)
        size = np.where(np.isnan(numbers), _NAN, np.sign(numbers) * size)
        return size.astype(np.int64)


def middle_of(buckets: np.ndarray) -> np.ndarray:
    """A number that is near to all of its bucket.

    >>> middle_of(bucket_of(np.array([-3.0, 0.0, 100.0]))).round(1).tolist()
    [-3.0, 0.0, 100.5]
    """
    size = np.exp((np.abs(buckets) - _MIDDLE) * _GROWTH) * (1 - ACCURACY)
    numbers = np.where(buckets == 0, 0.0, np.sign(buckets) * size)
    numbers = np.where(np.abs(buckets) == _INFINITE, np.copysign(np.inf, buckets), numbers)
    return np.where(buckets == _NAN, np.nan, numbers)
