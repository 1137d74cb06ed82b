"""SharedWindows: all windows over one store that a bound closes, computed together.

A bound about panes reaches the readers of a store one after the other. The first that asks has
the windows computed for all that want the same aggregates, whatever their RANGE and SLIDE: one step
over a grid of panes (`pane_grid`), of which each reader gets its slice. So a further window costs
what its results cost, and next to nothing per bound.

Where groups are many and most have no rows in most panes, a grid is not worth its room; then
readers compute their windows by themselves (`paned_wid`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Ids
from penstock.kernel.aggregation.driver import present
from penstock.kernel.aggregation.panes.pane_grid import PANE, PaneGrid, with_counts
from penstock.kernel.aggregation.wid.overlay import repeat_ranges
from penstock.kernel.segments import SegmentTable
from penstock.model.timestamps import BEGINNING
from penstock.windows.sliding import Sliding

if TYPE_CHECKING:
    from penstock.kernel.aggregation.panes.pane_store import PaneStore
    from penstock.kernel.aggregation.panes.paned_wid import PanedWid

#: Results computed in one go; more would only take more memory.
MOST_RESULTS = 1 << 21


@dataclass(frozen=True, eq=False)
class Slice:
    """The results of one reader, for its windows closed … bound - 1."""

    closed: int
    bound: int
    rows: pl.DataFrame | None


class SharedWindows:
    """Computes windows of a store's panes for its readers."""

    def __init__(self, store: PaneStore) -> None:
        self._store = store
        self._grid: PaneGrid | None = None
        self._table: SegmentTable | None = None  # of panes that the grid was made of
        self._below = BEGINNING  # panes below are in it
        self._sparse_until = BEGINNING  # panes below which no grid is tried
        self._ready: WeakKeyDictionary[PanedWid, Slice] = WeakKeyDictionary()

    def grid(self) -> PaneGrid | None:
        """The panes that are complete; None: they would leave it mostly empty."""
        state = self._store.state
        if self._grid is not None and self._table is not state.panes:
            self._forget()  # state was restored under it
        if self._grid is None:
            if self._below == state.complete or state.complete < self._sparse_until:
                return None
            return self._made()
        self._extend(self._grid)
        if self._grid.is_full_enough(state.panes.rows):
            return self._grid
        return self._made()  # without the groups that are gone

    def _made(self) -> PaneGrid | None:
        self._forget()
        state = self._store.state
        parts = with_counts(part for reader in self._readers() for part in reader.aggregates.parts)
        grid = PaneGrid(self._store.aggregates.groups, parts)
        self._table = state.panes
        self._extend(grid)
        if grid.is_full_enough(state.panes.rows):
            self._grid = grid
            return grid
        # Panes that are there now are not looked at again: later ones may lie closer.
        self._sparse_until = state.complete + int(grid.panes[-1] - grid.panes[0]) + 1
        return None

    def _extend(self, grid: PaneGrid) -> None:
        state = self._store.state
        if self._below < state.complete:
            added = self._store.since(self._below)
            if added is not None:
                grid.append(added, added.get_column(PANE).to_numpy())
            self._below = state.complete
        grid.drop(self._store.first())

    def _forget(self) -> None:
        self._grid, self._table, self._below = None, None, BEGINNING

    def _readers(self) -> Iterator[PanedWid]:
        return (reader for reader in self._store.readers if reader.can_share)

    def added(self) -> None:
        """A reader is there that may need what the grid has not."""
        self._forget()
        self._sparse_until = BEGINNING

    # -- windows ------------------------------------------------------------------------------

    def close(self, reader: PanedWid, received: int, bound: int) -> Slice | None:
        """What a reader puts out when panes below `received` are complete; None: no grid."""
        ready = self._ready.pop(reader, None)
        if ready is not None and (ready.closed, ready.bound) == (reader.state.closed, bound):
            return ready
        grid = self.grid()
        if grid is None:
            return None
        # Readers have their turns in this order, too.
        alike = [r for r in self._readers() if r.aggregates.alike(reader.aggregates)]
        turn = alike.index(reader)
        self._compute(grid, [(r, r.closed_by(received)) for r in alike[turn:] + alike[:turn]])
        return self._ready.pop(reader)

    def _compute(self, grid: PaneGrid, asking: list[tuple[PanedWid, int]]) -> None:
        """The windows of as many readers as go together; the first is always among them."""
        sets: list[tuple[PanedWid, int, Ids]] = []
        room = MOST_RESULTS
        for reader, bound in asking:
            wids = _windows(reader.panes, grid.panes, reader.state.closed, bound)
            room -= len(wids) * grid.groups
            if sets and room < 0:
                break
            sets.append((reader, bound, wids))
        covers = [reader.panes.covers(wids) for reader, _, wids in sets]
        low, high = grid.rows_of(*np.concatenate(covers, axis=1))
        # Between panes that lie far apart are windows without any.
        some = np.flatnonzero(low < high)
        rows = None
        number: Ids = np.empty(0, dtype=np.int64)
        if len(some):
            aggregates = asking[0][0].aggregates
            window, cells = grid.compose(low[some], high[some], aggregates.parts)
            number = some[window]
            times = [reader.window.covers(wids) for reader, _, wids in sets]
            start, end = np.concatenate(times, axis=1)
            rows = present(aggregates.answers(cells), start[number], end[number])
        ends = np.cumsum([len(wids) for _, _, wids in sets])
        cuts = np.searchsorted(number, np.append(0, ends)).tolist()
        for (reader, bound, _), begin, stop in zip(sets, cuts, cuts[1:], strict=False):
            part = None
            if rows is not None and begin < stop:
                part = rows.slice(begin, stop - begin)
                part.columns = reader.columns
            self._ready[reader] = Slice(reader.state.closed, bound, part)


def _windows(window: Sliding, panes: Ids, closed: int, bound: int) -> Ids:
    """The windows closed … bound - 1 that may have panes."""
    if not len(panes):
        return panes
    first = max(closed, window.wid_range(int(panes[0]))[0])
    stop = min(bound, window.wid_range(int(panes[-1]))[1])
    if stop - first <= 4 * len(panes):
        return np.arange(first, stop)
    # Long silences: only where there are panes.
    start, end = window.wid_range(panes)
    start = np.maximum(np.maximum(start, np.append(closed, end[:-1])), closed)
    lengths = np.maximum(np.minimum(end, bound) - start, 0)
    return repeat_ranges(start, lengths)
