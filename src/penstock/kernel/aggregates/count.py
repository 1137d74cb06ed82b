"""count(*): how many rows. count(x): how many of them have an x. And how many leave."""

from __future__ import annotations

import polars as pl

from penstock.kernel.aggregates.function import Additive
from penstock.kernel.aggregates.grouping import Columns, Grouping


class Count(Additive):
    """Never NULL: nothing counted is 0."""

    kinds = ("count",)

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        return (groups.count(None if self.argument is None else self.values(rows)),)


class Leaving(Additive):
    """The `tupleCnt` of AdaptWID: no result of a query, but a count that goes with its partials.

    Half as wide as a count, since it costs memory where memory is to be saved.
    Spec: window-queries 5.5.
    """

    kinds = ("leaving",)

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        return (groups.count().cast(pl.UInt32),)
