"""mode(x) and heavy_hitters(x, share): read off how often each value occurs.

A group keeps one entry per different value. Merging adds up the entries, so a pane holds its own
and a window is put together from those of its panes.  Spec: window-queries 4.2, 4.3, Q6-4.
"""

from __future__ import annotations

import polars as pl

from penstock.kernel.aggregates.function import OfParts
from penstock.kernel.aggregates.lists import COUNT, GROUP, VALUE, Counted, as_json


class Frequencies(Counted):
    """Every value with its count."""

    kinds = ("frequencies",)

    def arranged(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Most frequent first, equal ones in their own order."""
        return super().arranged(rows.sort(GROUP, COUNT, VALUE, descending=[False, True, False]))


class Mode(OfParts):
    """The most frequent value; of several the least."""

    keeps = (Frequencies,)

    def read(self, found: pl.Series) -> pl.Series:
        return found.list.first().struct.field(VALUE)


class HeavyHitters(Mode):
    """The values that make up at least a share of all, most frequent first, as JSON."""

    def read(self, found: pl.Series) -> pl.Series:
        [share] = self.parameters
        count = pl.element().struct.field(COUNT)
        heavy = pl.element().filter(count >= share * count.sum())
        return as_json(found.list.eval(heavy.struct.field(VALUE)))
