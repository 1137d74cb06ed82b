"""mode(x) and heavy_hitters(x, share): read off how often each value occurs.

A group keeps one entry per different value. Merging adds up the entries, so a pane holds its own
and a window is put together from those of its panes.  Spec: window-queries 4.2, 4.3, Q6-4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from penstock.kernel.aggregates.function import OfPart
from penstock.kernel.aggregates.grouping import Columns
from penstock.kernel.aggregates.lists import COUNT, GROUP, VALUE, Counted, as_json, pack
from penstock.kernel.types import polars_type


@dataclass(frozen=True)
class Frequencies(Counted):
    """Every value with its count."""

    kinds: ClassVar[tuple[str, ...]] = ("frequencies",)

    def packed(self, rows: pl.DataFrame, size: int) -> pl.Series:
        """Most frequent first, equal ones in their own order."""
        assert self.of is not None
        rows = rows.sort(GROUP, COUNT, VALUE, descending=[False, True, False])
        entries = rows.select(GROUP, pl.struct(VALUE, COUNT).alias(VALUE))
        element = pl.Struct({VALUE: polars_type(self.of), COUNT: pl.Int64()})
        return pack(entries, size, element)


@dataclass(frozen=True)
class Mode(OfPart):
    """The most frequent value; of several the least."""

    keeps = Frequencies

    def result(self, partials: Columns) -> pl.Series:
        return self.kept(partials).list.first().struct.field(VALUE)


@dataclass(frozen=True)
class HeavyHitters(Mode):
    """The values that make up at least a share of all, most frequent first, as JSON."""

    def result(self, partials: Columns) -> pl.Series:
        [share] = self.parameters
        count = pl.element().struct.field(COUNT)
        heavy = pl.element().filter(count >= share * count.sum())
        return as_json(self.kept(partials).list.eval(heavy.struct.field(VALUE)))
