"""Buffering: keep the rows, and compute a window from its rows when it closes.

What systems did before WID, to compare with. Rows stand in a buffer in the order of the windowing
attribute, so the rows of a window stand together; they are aggregated when a bound closes it, and
a row is looked at once for every window that it is in. Rows that are in no open window are purged.

An input in disorder has to be sorted, which means to wait: a stream's slack says how long, since
bounds lag behind the newest row by it. A row that is later still misses the windows that are
closed; `SET late` says whether it misses the others, too.  Spec: window-queries 3.6, 1.3.

The incremental twin is `buffering_incremental`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Ids
from penstock.kernel.aggregates.keys import group_rows
from penstock.kernel.aggregation.panes.ranges import Ranges, stack
from penstock.kernel.aggregation.wid.bucket import WID_END, WID_START
from penstock.kernel.aggregation.wid.wid import WidAggregate, WidState
from penstock.kernel.block import Block
from penstock.kernel.operator import Output
from penstock.kernel.segments import SegmentTable, table
from penstock.windows.sliding import Sliding


@dataclass
class BufferingState(WidState):
    """Rows of open windows; there are no partials."""

    buffer: SegmentTable = table()


class Buffering(WidAggregate):
    """Aggregates rows that carry a range of wids, window by window."""

    state: BufferingState
    state_class = BufferingState
    window: Sliding
    closes_groups = False  # rows of all groups stand among each other

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        rows = self._open(block.rows)
        if rows.height:
            rows = self.aggregates.prepare(rows)
            read = {*self.aggregates.groups, *self.aggregates.arguments, self.window.on}
            rows = rows.select(*sorted(read), WID_START, WID_END)
            self.state.buffer.append(rows.sort(self.window.on, maintain_order=True))

    def _starts(self) -> Iterator[int]:
        return (int(rows.get_column(WID_START)[0]) for rows in self.state.buffer)

    def _take_below(self, bound: int) -> Ranges | None:
        buffer = self.state.buffer
        if not buffer.segments:
            return None
        if len(buffer.segments) > 1:
            buffer.replace(pl.concat(buffer).sort(self.window.on, maintain_order=True))
        [rows] = buffer
        found = self._below(bound, rows)
        buffer.cut(lambda rows: int(rows.get_column(WID_END).to_numpy().searchsorted(bound + 1)))
        return found

    def _below(self, bound: int, rows: pl.DataFrame) -> Ranges | None:
        """The groups of every window that closes and has rows, one window after the other."""
        start = np.maximum(rows.get_column(WID_START).to_numpy(), self.state.closed)
        stop = rows.get_column(WID_END).to_numpy()
        found = [
            self._window_of(wid, rows.slice(first, last - first))
            for wid, first, last in extents(start, stop, self.state.closed, bound)
        ]
        return stack(found)[0] if found else None

    def _window_of(self, wid: int, rows: pl.DataFrame) -> pl.DataFrame:
        groups = group_rows(map(rows.get_column, self.aggregates.groups), rows.height)
        start = np.full(groups.size, wid)
        return Ranges(start, start + 1, self.aggregates.started(rows, groups)).segment()


def extents(start: Ids, stop: Ids, first: int, bound: int) -> Iterator[tuple[int, int, int]]:
    """Windows first … bound - 1 that have rows, and which: from a place to before another.

    Both ends of the rows' ranges ascend.

    >>> list(extents(np.array([0, 1, 7]), np.array([2, 3, 9]), first=0, bound=8))
    [(0, 0, 1), (1, 0, 2), (2, 1, 2), (7, 2, 3)]
    """
    wid = first
    while wid < bound:
        begin = int(np.searchsorted(stop, wid, side="right"))
        if begin == len(stop):
            return
        wid = max(wid, int(start[begin]))  # windows without rows are skipped
        if wid >= bound:
            return
        yield wid, begin, int(np.searchsorted(start, wid, side="right"))
        wid += 1
