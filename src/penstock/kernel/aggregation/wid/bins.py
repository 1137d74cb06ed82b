"""BinsAggregate: windows that end where rows are, by slide-by-tuple bins.

Which windows exist is not known when a row comes, but where they can lie is: a row at time t is in
every window that ends in [t, t + RANGE). The aggregate as a function of a window's end is a step
function; its steps are the *bins*: one begins at each row's time, one where the row leaves again.
A bin starts with the value of the bin it falls into, and rows update all bins that they cover.
A bound makes the bins below it final: those that a row ends are put out, and the value at the
bound stays as the first bin of the rest.

WID keeps just such a step function, one entry per group and bin; so all that is added here is
which of the ends are windows:

    SlideByTuple        every row's time
    SlideByRowNumber    those of rows whose number is a multiple of n
    SlideByRank         every n-th in the order of time, known for those below the bound
Spec: window-queries 3.7, Fig 6-5 to 6-7, with the three corrections.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Ids
from penstock.kernel.aggregation.panes.ranges import Ranges
from penstock.kernel.aggregation.wid.bucket import WID, WID_START
from penstock.kernel.aggregation.wid.overlay import repeat_ranges
from penstock.kernel.aggregation.wid.wid import WidAggregate, WidState
from penstock.kernel.block import Block
from penstock.kernel.operator import Output
from penstock.kernel.progress.release import Times, Waiting
from penstock.kernel.segments import SegmentTable, table
from penstock.windows.slide_by_tuple import EndedByRows, SlideByRank, SlideByRowNumber, SlideByTuple

_END = "end"


@dataclass
class BinsState(WidState):
    """Times at which a window may end, and how many rows are ranked already."""

    ends: SegmentTable = table(_END)
    ranked: int = 0


class BinsAggregate(WidAggregate):
    """Aggregates rows that carry the range in which their windows can end."""

    closes_groups = False

    state: BinsState
    state_class = BinsState

    window: EndedByRows
    _final: Ids = np.empty(0, dtype=np.int64)  # the windows that are being closed

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        super().on_batch(port, block, out)
        rows = block.rows.filter(pl.col(WID_START) >= self.state.closed)
        if isinstance(self.window, SlideByRowNumber):
            rows = rows.filter(pl.col(self.window.slide_on) % self.window.every == 0)
        ends = rows.get_column(WID_START)
        if not isinstance(self.window, SlideByRank):
            ends = ends.unique()
        self.state.ends.append(ends.sort().alias(_END).to_frame())

    def _check_open(self, folded: pl.DataFrame) -> None:
        """Ids are times here; a window ends where a row is, so there are no more than rows."""

    def _take_below(self, bound: int) -> Ranges | None:
        self._final = self._windows_below(bound)
        return super()._take_below(bound)

    def _windows_below(self, bound: int) -> Ids:
        """The ends below the bound that are windows, in order, each once."""
        found = [rows.get_column(_END).to_numpy() for rows in self.state.ends.take_below(bound)]
        ends = np.concatenate([np.empty(0, dtype=np.int64), *found])
        if not isinstance(self.window, SlideByRank):
            return np.unique(ends)
        every = self.window.every
        before = self.state.ranked
        self.state.ranked += len(ends)
        return np.unique(np.sort(ends)[every - 1 - before % every :: every])

    def first_open(self) -> int | None:
        """The first end that is known to be that of a window."""
        if not self.state.ends.rows:
            return None
        found = [rows.get_column(_END).to_numpy() for rows in self.state.ends]
        ends = np.sort(np.concatenate(found))
        if not isinstance(self.window, SlideByRank):
            return int(ends[0])
        place = self.window.every - 1 - self.state.ranked % self.window.every
        return int(ends[place]) if place < len(ends) else None

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        end = times[WID]
        assert end is not None
        if end < self.state.closed:
            return ()
        return self._closing(end, certain=isinstance(self.window, SlideByTuple))

    def _windows(self, ranges: Ranges) -> tuple[Ids | None, Ids]:
        first = np.searchsorted(self._final, ranges.start)
        lengths = np.searchsorted(self._final, ranges.stop) - first
        source = np.repeat(np.arange(len(ranges)), lengths)
        return source, self._final[repeat_ranges(first, lengths)]
