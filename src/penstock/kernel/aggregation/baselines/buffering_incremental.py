"""BufferingIncremental: from one window to the next, rows that come are added, others taken away.

Rows are kept as in `buffering`, but a window is not computed from all its rows: the groups of the
window before are known, and change by the rows that enter and those that leave. So a row is looked
at twice, however many windows it is in. For functions that can be taken away again, exactly: counts
and sums of integers.  Spec: window-queries 3.5, 3.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates import Ids, columns_of, frame, take
from penstock.kernel.aggregation.baselines.buffering import (
    Buffering,
    BufferingState,
    extents,
    one_window,
)
from penstock.kernel.aggregation.driver import Results
from penstock.kernel.aggregation.keys import group_rows
from penstock.kernel.aggregation.panes.pane_grid import ROWS, keep_counts, restore_nulls
from penstock.kernel.aggregation.panes.ranges import Ranges
from penstock.kernel.aggregation.wid.bucket import WID_END, WID_START
from penstock.kernel.segments import SegmentTable, table
from penstock.windows.sliding import Sliding


@dataclass
class IncrementalState(BufferingState):
    """Also the groups of the rows that have entered and are in the buffer."""

    running: SegmentTable = table()


class BufferingIncremental(Buffering):
    """The same for counts and sums."""

    state: IncrementalState
    state_class = IncrementalState

    def __init__(
        self, groups: Sequence[str], results: Results, window: Sliding, *, consistent: bool = False
    ) -> None:
        super().__init__(groups, results, window, consistent=consistent)
        keep_counts(self.aggregates)

    def _windows_below(self, bound: int, rows: pl.DataFrame) -> Iterator[Ranges]:
        closed = self.state.closed
        start, stop = rows.get_column(WID_START).to_numpy(), rows.get_column(WID_END).to_numpy()
        # A row that enters is one that no window that is closed has seen, be it late or not.
        is_new = start >= closed
        entering, leaving = np.flatnonzero(is_new), np.arange(len(stop))
        effective = np.maximum(start, closed)
        running = next(iter(self.state.running), None)
        for wid, _, _ in extents(effective, stop, closed, bound):
            entered = int(np.searchsorted(start[entering], wid, side="right"))
            left = int(np.searchsorted(stop[leaving], wid, side="right"))
            running = self._changed(running, rows, entering[:entered], leaving[:left])
            entering, leaving = entering[entered:], leaving[left:]
            yield self._groups_of(wid, running)
        left = int(np.searchsorted(stop[leaving], bound, side="right"))
        running = self._changed(running, rows, entering[:0], leaving[:left])
        self.state.running.replace(running)

    def _changed(
        self, running: pl.DataFrame | None, rows: pl.DataFrame, entering: Ids, leaving: Ids
    ) -> pl.DataFrame:
        """Groups after some rows have come and others left; those without rows are gone."""
        aggregates = self.aggregates
        frames = [self._started(rows[entering], 1), self._started(rows[leaving], -1)]
        if running is not None:
            frames.append(running)
        together = pl.concat(frames)
        keys = {name: together.get_column(name) for name in aggregates.groups}
        groups = group_rows(keys.values(), together.height)
        columns = take(keys, groups.members)
        for name in aggregates.partials:
            columns[name] = groups.sum(together.get_column(name))
        return frame(columns).filter(pl.col(ROWS.columns[0]) > 0)

    def _started(self, rows: pl.DataFrame, sign: int) -> pl.DataFrame:
        """Groups of rows, to be added or taken away; a sum of nothing counts as 0."""
        keys = {name: rows.get_column(name) for name in self.aggregates.groups}
        groups = group_rows(keys.values(), rows.height)
        if not rows.height:
            groups = type(groups)(groups.ids, 0, groups.members[:0])
        columns = take(keys, groups.members)
        for name, partial in self.aggregates.start(rows, groups).items():
            columns[name] = partial.cast(pl.Int64).fill_null(0) * sign
        return frame(columns)

    def _groups_of(self, wid: int, running: pl.DataFrame) -> Ranges:
        columns = restore_nulls(columns_of(running), self.aggregates.parts)
        return one_window(wid, columns, running.height)
