"""WindowDriver: what every aggregate over windows does when time passes.

    rows         each algorithm takes them in its own way (`on_batch`)
    closing      a bound on its `clock` says which windows are over, and `_close` takes their
                 results out of the state; `_close_some` does for groups that a keyed bound is about
    presenting   results leave as rows with both ends of their windows (`present`), and behind them
                 go bounds on these ends

`IdDriver` is for windows that have ids: a window's ends, and what to wait for, follow from its id.
Spec: window-queries 3.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Columns, Ids, frame, take
from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.aggregation.panes.ranges import Ranges
from penstock.kernel.aggregation.wid.overlay import repeat_ranges
from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.state import State
from penstock.model.aggregates import Aggregate
from penstock.model.punctuation import Punctuation, Where
from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.model.timestamps import BEGINNING, END
from penstock.windows.sliding import Sliding
from penstock.windows.tagged import Tagged

Results = Sequence[tuple[str, Aggregate]]


@dataclass
class WindowState(State):
    """Windows below `closed` are over."""

    closed: int = BEGINNING
    started: int = BEGINNING  # the bound sent last about the windows' starts
    late: int = 0  # rows that came too late for some of their windows
    unplaced: int = 0  # rows without a time
    # Since somebody looked: windows that were answered, and their results …
    windows: int = 0
    results: int = 0
    # … and what had come in by then.
    rows_before: int = 0
    blocks_before: int = 0


class WindowDriver(Operator):
    """Aggregates `results` of `groups`; bounds on `clock` close windows."""

    state: WindowState
    state_class: ClassVar[type[WindowState]] = WindowState
    #: Whether a bound about some groups can close their windows before those of others.
    closes_groups = True

    def __init__(self, clock: str, groups: Sequence[str], results: Results) -> None:
        super().__init__()
        self.state = self.state_class()
        self.aggregates = AggregateSet(groups, results)
        self._clock = clock
        #: A keyed bound about anything else says nothing about a whole group.
        self._closed_by_key = frozenset(groups)

    def useful(self) -> frozenset[str]:
        return frozenset([self._clock])

    def known(self, port: int, on: str) -> int:
        return self.state.closed if on == self._clock else BEGINNING

    def _in_time(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows that have a time, and are not late."""
        times = rows.get_column(self._clock)
        first: Any = times.min()
        if first is not None and first >= self.state.closed and not times.null_count():
            return rows  # most blocks: nothing is copied
        placed = rows.drop_nulls(self._clock)
        in_time = placed.filter(pl.col(self._clock) >= self.state.closed)
        self.state.unplaced += rows.height - placed.height
        self.state.late += placed.height - in_time.height
        return in_time

    # -- closing ------------------------------------------------------------------------------

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        bound = self.closed_by(punctuation.bound)
        if punctuation.on != self._clock or bound <= self.state.closed:
            return
        rows = self._close(punctuation.bound, bound)
        put_out(rows, out)
        if rows is not None and rows.height:
            self._count(rows)
        self.state.closed = bound
        self._announce(bound, (), out)

    def on_pattern(self, port: int, punctuation: Punctuation, out: Output) -> None:
        """Close windows of the groups that are meant; others stay open."""
        bound, where = self.closed_by(punctuation.bound), punctuation.where
        if punctuation.on != self._clock or bound <= self.state.closed or not self.closes_groups:
            return
        named = {name for name, _ in where}
        if named <= self._closed_by_key:
            put_out(self._close_some(punctuation.bound, bound, where), out)
            if named <= set(self.aggregates.groups):
                self._announce(bound, where, out)

    def closed_by(self, bound: int) -> int:
        """The first window that stays open at a bound on the clock."""
        return bound

    def _close(self, received: int, bound: int) -> pl.DataFrame | None:
        """Take out the results of windows below the bound; `received` is what the clock shows."""
        raise NotImplementedError

    def _close_some(self, received: int, bound: int, where: Where) -> pl.DataFrame | None:
        """The same for the groups of a keyed bound."""
        raise NotImplementedError

    def _count(self, rows: pl.DataFrame) -> None:
        """Take note of results, where somebody asks how many a window has."""

    def _announce(self, bound: int, where: Where, out: Output) -> None:
        """What the end of windows below the bound says about results to come."""
        start, end = self._ends(bound)
        out.punctuation(Punctuation(WINDOW_END, end, where))
        # Several windows may begin together, or all with the stream.
        if start is not None and (where or start > self.state.started):
            out.punctuation(Punctuation(WINDOW_START, start, where))
            self.state.started = self.state.started if where else start

    def _ends(self, bound: int) -> tuple[int | None, int]:
        """Bounds on the starts (None: there is none) and ends of windows from the bound on."""
        raise NotImplementedError


class IdDriver(WindowDriver):
    """Windows that have ids, of which the clock tells."""

    def __init__(self, clock: str, groups: Sequence[str], results: Results, window: Tagged) -> None:
        super().__init__(clock, groups, results)
        self.window = window

    def _ends(self, bound: int) -> tuple[int | None, int]:
        return (END, END) if bound >= END else self.window.covers(bound)

    def presented(self, ranges: Ranges | None) -> pl.DataFrame | None:
        """One result per group and window."""
        if ranges is None:
            return None
        columns = self.aggregates.answers(ranges.columns)
        source, wids = self._windows(ranges)
        columns = take(columns, source) if source is not None else columns
        return present(columns, *self.window.covers(wids))

    def _windows(self, ranges: Ranges) -> tuple[Ids | None, Ids]:
        """The windows in each range: the number of its range (None: one in each), and its wid."""
        lengths = ranges.stop - ranges.start
        if lengths.max() == 1:
            return None, ranges.start
        source = np.repeat(np.arange(len(ranges)), lengths)
        return source, repeat_ranges(ranges.start, lengths)

    def _count(self, rows: pl.DataFrame) -> None:
        if isinstance(self.window, Sliding):
            ends = rows.get_column(WINDOW_END).to_numpy()
            self.state.windows += int(ends.max() - ends.min()) // self.window.slide + 1
            self.state.results += rows.height

    def first_untouched(self) -> int:
        """The first window from which on no row has come to any."""
        raise NotImplementedError

    # -- how much comes -----------------------------------------------------------------------

    def seen(self) -> tuple[int, int]:
        """The rows that came since `look_anew`, and the blocks they came in."""
        rows, blocks = self._intake()
        return rows - self.state.rows_before, blocks - self.state.blocks_before

    def look_anew(self) -> None:
        """Count from now on."""
        self.state.windows = self.state.results = 0
        self.state.rows_before, self.state.blocks_before = self._intake()

    def _intake(self) -> tuple[int, int]:
        """The rows that came, and the blocks they came in, since it was built."""
        raise NotImplementedError

    def _closes_at(self, wid: int) -> int:
        """The least bound on the clock that closes all windows before this one."""
        return wid

    # -- what it waits for --------------------------------------------------------------------

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        first = self.first_open()
        return () if first is None else self._closing(first)

    def first_open(self) -> int | None:
        """The first window that is open and has rows."""
        raise NotImplementedError

    def _closing(self, wid: int, *, certain: bool = True) -> tuple[Waiting]:
        """The results of a window."""
        need = Need(0, self._clock, self._closes_at(wid + 1))
        return (Waiting((need,), self._times(wid), certain),)

    def _times(self, wid: int) -> Times:
        start, end = self.window.covers(wid)
        return {WINDOW_START: start, WINDOW_END: end}

    def needed(self, on: str, bound: int) -> Needs | None:
        if on not in (WINDOW_START, WINDOW_END):
            return None
        wid = self.window.first_covering(int(on == WINDOW_END), bound)
        return None if wid is None else Needs((Need(0, self._clock, self._closes_at(wid)),))


def put_out(rows: pl.DataFrame | None, out: Output) -> None:
    if rows is not None and rows.height:
        out.batch(Block(rows))


def present(columns: Columns, start: Ids | None, end: Ids) -> pl.DataFrame:
    """Results with what their windows cover."""
    starts = pl.repeat(None, len(end), dtype=pl.Int64, eager=True) if start is None else start
    return frame({**columns, WINDOW_START: pl.Series(starts), WINDOW_END: pl.Series(end)})
