"""How many rows have their last window here: they are gone when it closes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from penstock.kernel.aggregates.function import Additive
from penstock.kernel.aggregates.grouping import Columns, Grouping


@dataclass(frozen=True)
class Leaving(Additive):
    """The `tupleCnt` of AdaptWID: no result of a query, but a count that goes with its partials.

    Half as wide as a count, since it costs memory where memory is to be saved.
    Spec: window-queries 5.5.
    """

    kinds: ClassVar[tuple[str, ...]] = ("leaving",)

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        return (groups.count().cast(pl.UInt32),)
