"""Ranges: partial aggregates, each of one group and a range of wids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Columns, Ids, concat, frame, take
from penstock.kernel.aggregation.wid.bucket import WID_END, WID_START


@dataclass(frozen=True, eq=False)
class Ranges:
    """Row i holds for the wids start[i] … stop[i] - 1."""

    start: Ids
    stop: Ids
    columns: Columns  # the group, and its partials

    def __len__(self) -> int:
        return len(self.start)

    def take(self, index: Ids) -> Ranges:
        return Ranges(self.start[index], self.stop[index], take(self.columns, index))

    def cut_at(self, bound: int) -> tuple[Ranges, Ids]:
        """The same in pieces that do not reach across the bound, and where each comes from."""
        across = np.flatnonzero((self.start < bound) & (bound < self.stop))
        index = np.concatenate((np.arange(len(self)), across))
        start = np.concatenate((self.start, np.full(len(across), bound)))
        stop = np.concatenate((self.stop, self.stop[across]))
        stop[across] = bound
        return Ranges(start, stop, take(self.columns, index)), index

    def segment(self) -> pl.DataFrame:
        """As a table, sorted by the first wid."""
        ranges = self
        if bool((self.start[1:] < self.start[:-1]).any()):
            ranges = self.take(in_order(self.start))
        return ranges.table()

    def table(self) -> pl.DataFrame:
        """As a table, in the order they are in."""
        bounds = {WID_START: pl.Series(self.start), WID_END: pl.Series(self.stop)}
        return frame({**bounds, **self.columns})


def stack(segments: Sequence[pl.DataFrame]) -> tuple[Ranges, Ids]:
    """Segments one behind the other, and for each range the number of its segment."""
    columns = concat(segments, segments[0].columns)
    start, stop = columns.pop(WID_START).to_numpy(), columns.pop(WID_END).to_numpy()
    layers = np.repeat(np.arange(len(segments)), [segment.height for segment in segments])
    return Ranges(start, stop, columns), layers


def in_order(values: Ids) -> Ids:
    """The index that sorts; equal values keep their order."""
    least, greatest = int(values.min()), int(values.max())
    if greatest - least < 1 << 16:  # NumPy sorts numbers of 16 bits digit by digit
        return np.argsort((values - least).astype(np.uint16), kind="stable")
    return np.argsort(values, kind="stable")
