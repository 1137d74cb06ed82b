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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates import Ids
from penstock.kernel.aggregation.driver import Results
from penstock.kernel.aggregation.keys import group_rows
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
    closes_groups = False  # rows of all groups stand among each other

    def __init__(
        self, groups: Sequence[str], results: Results, window: Sliding, *, consistent: bool = False
    ) -> None:
        super().__init__(groups, results, window, consistent=consistent)
        self.state.buffer = SegmentTable(on=window.on)
        self._on = window.on

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        rows = self._open(block.rows)
        if rows.height:
            rows = self.aggregates.prepare(rows)
            read = {*self.aggregates.groups, *self.aggregates.arguments, self._on}
            self.state.buffer.append_sorted(rows.select(*sorted(read), WID_START, WID_END))

    def _first_open(self) -> int | None:
        is_open = pl.col(WID_END) > self.state.closed
        kept = [rows.filter(is_open) for rows in self.state.buffer]
        found = [int(rows.get_column(WID_START)[0]) for rows in kept if rows.height]
        return max(min(found), self.state.closed) if found else None

    def _take_below(self, bound: int) -> Ranges | None:
        rows = self._in_order()
        if rows is None:
            return None
        found = list(self._windows_below(bound, rows))
        self.state.buffer.cut(
            lambda rows: int(rows.get_column(WID_END).to_numpy().searchsorted(bound + 1))
        )
        return stack([each.segment() for each in found])[0] if found else None

    def _in_order(self) -> pl.DataFrame | None:
        """All rows, in one segment."""
        buffer = self.state.buffer
        if len(buffer.segments) > 1:
            buffer.replace(pl.concat(buffer).sort(self._on, maintain_order=True))
        return next(iter(buffer), None)

    def _windows_below(self, bound: int, rows: pl.DataFrame) -> Iterator[Ranges]:
        """The groups of every window that closes and has rows, one window after the other."""
        start = np.maximum(rows.get_column(WID_START).to_numpy(), self.state.closed)
        stop = rows.get_column(WID_END).to_numpy()
        for wid, first, last in extents(start, stop, self.state.closed, bound):
            yield self._window_of(wid, rows.slice(first, last - first))

    def _window_of(self, wid: int, rows: pl.DataFrame) -> Ranges:
        groups = group_rows(map(rows.get_column, self.aggregates.groups), rows.height)
        return one_window(wid, self.aggregates.started(rows, groups), groups.size)


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


def one_window(wid: int, columns: dict[str, pl.Series], groups: int) -> Ranges:
    """The groups of one window."""
    start = np.full(groups, wid)
    return Ranges(start, start + 1, columns)
