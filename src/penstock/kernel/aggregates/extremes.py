"""min(x) and max(x), of any type that has an order.

NaN counts as greater than any number, as in Spark: it is the max where there is one, and the min
where there is nothing else.
"""

from __future__ import annotations

import polars as pl

from penstock.kernel.aggregates.function import PartialAggregate
from penstock.kernel.aggregates.grouping import Columns, Grouping


class Min(PartialAggregate):
    """The least value."""

    kinds = ("min",)

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        return (groups.least(self.values(rows)),)

    def merge(self, partials: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        return (groups.least(self.result(partials)),)


class Max(PartialAggregate):
    """The greatest value."""

    kinds = ("max",)

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        return (groups.greatest(self.values(rows)),)

    def merge(self, partials: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        return (groups.greatest(self.result(partials)),)
