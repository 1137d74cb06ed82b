"""Folding: rows of one task that wait to be aggregated where they were read.

They are aggregated many at a time: what is kept of twice as many rows of the same panes is hardly
more, and each table that is sent is merged by a group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from penstock.spark.exchange.alike_aggregates import AlikeAggregates, ReadBlock
from penstock.spark.exchange.preaggregation import Preaggregation

#: Rows that are aggregated at a time, once so many are there.
AT_ONCE = 1 << 20


class Partials(NamedTuple):
    """What aggregates keep of so many rows."""

    of: AlikeAggregates
    table: pl.DataFrame
    rows: int


class Folding:
    """Rows of one task; `width` is how many columns they have."""

    def __init__(self, how: Preaggregation, width: int) -> None:
        self._how = how
        self._width = width
        self._waiting: list[pl.DataFrame] = []
        self._pays: bool | None = None  # not known before there are rows

    def take(self, rows: pl.DataFrame) -> bool:
        """Take rows that are on time; False: it does not pay, and they are to be sent."""
        if self._pays is None and rows.height:
            self._pays = not self._how.aggregates or self._how.pays(rows, self._width)
        if self._how.aggregates and self._pays:
            self._waiting.append(rows)
        return self._pays is not False

    def full(self) -> Iterator[Partials]:
        """What is kept of the rows, if there are many."""
        if sum(rows.height for rows in self._waiting) >= AT_ONCE:
            yield from self.rest()

    def rest(self) -> Iterator[Partials]:
        """What is kept of the rows that are there."""
        if not self._waiting:
            return
        rows, self._waiting = pl.concat(self._waiting, rechunk=True), []
        block = ReadBlock(rows)
        for each in self._how.alike:
            table = each.fold(block)
            if table is not None:
                yield Partials(each, table, rows.height)
