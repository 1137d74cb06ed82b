"""PanedWid: the window-level query, which puts windows together from panes.

    PaneStore > PanedWid          Bucket > Agg > Bucket > Agg of the specification

A row is aggregated once, into its pane, and windows only see panes. What it costs to put a window
together depends on its aggregates:

    differential      counts and sums of integers: from one window to the next, panes that leave
                      are taken away and panes that come are added. The cost of a window is that of
                      its slide, however long its range.
    not differential  the panes of a window are merged; so also sets, percentiles and frequencies,
                      which panes keep once and not once per window.
Doubles are not subtracted: what remained of a number that has left would show.

Counts, sums and extremes of numbers are put together for all windows of the store in one step
(`shared_windows`), as long as most groups have rows in most panes.
Spec: window-queries 4.1 to 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Columns, Ids, take
from penstock.kernel.aggregation.driver import IdDriver, Results, WindowState
from penstock.kernel.aggregation.panes.differences import differences
from penstock.kernel.aggregation.panes.pane_grid import (
    PANE,
    can_be_laid_out,
    keep_counts,
)
from penstock.kernel.aggregation.panes.pane_store import PaneStore
from penstock.kernel.aggregation.panes.ranges import Ranges
from penstock.kernel.operator import Output
from penstock.kernel.progress.grain import UNUSED, Grain, grain_of
from penstock.kernel.progress.patterns import below, matching
from penstock.kernel.progress.release import Times, Waiting
from penstock.kernel.segments import SegmentTable, table
from penstock.model.punctuation import Punctuation, Where, from_json, to_json
from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.model.timestamps import BEGINNING, END
from penstock.windows.sliding import Sliding

#: Panes, counted in each of their windows, that are merged in one go. Many windows may close
#: at once, at the end of a stream above all, and memory would grow with them.
AT_ONCE = 1 << 22


@dataclass
class PanedState(WindowState):
    """The last window that is out, where windows follow from each other."""

    running: SegmentTable = table()
    begun: bool = False  # whether the window before is known
    early: list[tuple[list[Any], int]] = field(default_factory=list)  # groups that are out further


class PanedWid(IdDriver):
    """Computes one window of the panes of a store."""

    state: PanedState
    state_class = PanedState
    window: Sliding

    def __init__(
        self, store: PaneStore, groups: Sequence[str], results: Results, window: Sliding
    ) -> None:
        super().__init__(PANE, groups, results, window)
        self._store = store
        self.panes = store.panes.of_panes(window)
        self._differential = all(aggregate.is_invertible for _, aggregate in results)
        if self._differential:
            keep_counts(self.aggregates)
        self.columns = [*groups, *(name for name, _ in results), WINDOW_START, WINDOW_END]
        #: Whether its windows can be computed together with those of others.
        self.can_share = can_be_laid_out(self.aggregates.parts)
        self.begin()
        store.add_reader(self)

    def begin(self) -> None:
        """Windows that were over before it was there are not answered: panes of them are gone."""
        self.state.closed = self.panes.closed_below(self._store.state.complete)
        self.look_anew()

    @property
    def needs(self) -> int:
        closed = self.state.closed
        if closed >= END or closed <= BEGINNING:
            return closed
        # What leaves with the next window must still be there to be taken away.
        return self._first - self.panes.slide if self._differential else self._first

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        return grain_of(self.panes.grid) if on == PANE else UNUSED

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        super().on_punctuation(port, punctuation, out)
        if punctuation.is_final:
            self._store.purge()  # nothing comes after this

    def begin_anew(self) -> None:
        """Panes will change: the next window does not follow from the one before."""
        self.state.running.clear()
        self.state.begun = False

    def closed_by(self, bound: int) -> int:
        """The first window that stays open when panes below the bound are complete."""
        return END if bound >= END else self.panes.closed_below(bound)

    def _closes_at(self, wid: int) -> int:
        return self.panes.closes_at(wid)

    def _close(self, received: int, bound: int) -> pl.DataFrame | None:
        rows = self._windows_below(received, bound)
        if rows is not None and self.state.early:
            rows = self._not_early(rows)
            self.state.early = [(where, stop) for where, stop in self.state.early if stop > bound]
        return rows

    def _close_some(self, received: int, bound: int, where: Where) -> pl.DataFrame | None:
        """Answer for some groups before the others; what is out for them is left out later."""
        panes = self._store.of_groups(self._first, received, matching(where))
        rows = self._merge(panes, bound)
        rows = None if rows is None else self._not_early(rows)
        patterns = to_json(where)
        others = [(old, stop) for old, stop in self.state.early if old != patterns]
        self.state.early = [*others, (patterns, bound)]
        return rows

    def _not_early(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Results without those that are out already."""
        bounds = []
        for where, stop in self.state.early:
            end = END if stop >= END else self.window.covers(stop)[1]
            bounds.append((from_json(where), end))
        return rows.filter(~below(rows, WINDOW_END, bounds))

    @property
    def _first(self) -> int:
        """The first pane of the windows that are open."""
        closed = self.state.closed
        return BEGINNING if closed <= BEGINNING else self.panes.covers(closed)[0]

    def _windows_below(self, received: int, bound: int) -> pl.DataFrame | None:
        shared = self._store.windows.close(self, received, bound) if self.can_share else None
        if shared is not None:
            if self.state.begun:
                self.begin_anew()
            return shared.rows
        if not self._differential:
            return self._merge(self._store.since(self._first), bound)
        rows = self._differences(bound)
        self.state.begun = True
        return rows

    # -- what it waits for --------------------------------------------------------------------

    def first_open(self) -> int | None:
        pane = self._store.first_pane(self._first)
        return None if pane is None else self._wid_of(pane)

    def first_untouched(self) -> int:
        last = self._store.last_pane()
        stop = BEGINNING if last is None else self.panes.wid_range(last)[1]
        return max(self.state.closed, stop)

    def _intake(self) -> tuple[int, int]:
        return self._store.state.rows_in, self._store.state.blocks_in

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        pane = times[PANE]
        return () if pane is None or pane < self._first else self._closing(self._wid_of(pane))

    def _wid_of(self, pane: int) -> int:
        """The first open window that a pane is in."""
        return max(self.panes.wid_range(pane)[0], self.state.closed)

    def _closing(self, wid: int, *, certain: bool = True) -> tuple[Waiting]:
        # Groups that are out already leave it open whether others are there.
        return super()._closing(wid, certain=certain and not self.state.early)

    def known(self, port: int, on: str) -> int:
        return self._store.state.complete if on == PANE else BEGINNING

    # -- not differential ---------------------------------------------------------------------

    def _merge(self, found: pl.DataFrame | None, bound: int) -> pl.DataFrame | None:
        """Windows closed … bound - 1, each merged from those of its panes that were found."""
        if found is None:
            return None
        start, stop = self.panes.wid_range(found.get_column(PANE).to_numpy())
        start, stop = np.maximum(start, self.state.closed), np.minimum(stop, bound)
        names = (*self.aggregates.groups, *self.aggregates.partials)
        columns = {name: found.get_column(name) for name in names}
        pieces = (
            self._merged(columns, np.maximum(start, first), np.minimum(stop, last))
            for first, last in _pieces(start, stop)
        )
        rows = [piece for piece in pieces if piece is not None]
        return pl.concat(rows) if rows else None

    def _merged(self, columns: Columns, start: Ids, stop: Ids) -> pl.DataFrame | None:
        """Results of windows, where panes are in windows start … stop - 1 each."""
        windows = self.aggregates.windows(columns, start, stop, leading=True)
        if windows is None:
            return None
        partials, wids = windows
        return self.presented(Ranges(wids, wids + 1, partials))

    # -- differential -------------------------------------------------------------------------

    def _differences(self, bound: int) -> pl.DataFrame | None:
        """The same from the window before: panes come at their first window, and leave again."""
        state, changes = self.state, []
        panes = self._store.since(self._first - self.panes.slide)
        if panes is not None:
            comes, leaves = self.panes.wid_range(panes.get_column(PANE).to_numpy())
            ever = comes < leaves
            if not state.begun:
                ever &= leaves > state.closed
                comes = np.maximum(comes, state.closed)
            for at, sign in ((comes, 1), (leaves, -1)):
                # Panes that came before are among what is running.
                now = np.flatnonzero((at >= state.closed) & (at < bound) & ever)
                changes.append((take(panes.to_dict(), now), at[now], sign))
        found = differences(self.aggregates, state.running, state.closed, bound, changes)
        return self.presented(found)


def _pieces(start: Ids, stop: Ids) -> Iterator[tuple[int, int]]:
    """The windows of panes that are in windows start … stop - 1 each, as many as fit at a time.

    >>> list(_pieces(np.array([0, 2]), np.array([4, 6])))
    [(0, 6)]
    """
    merged = int(np.maximum(stop - start, 0).sum())
    if merged:
        first, last = int(start.min()), int(stop.max())
        length = -(-(last - first) // -(-merged // AT_ONCE))
        for piece in range(first, last, length):
            yield piece, piece + length
