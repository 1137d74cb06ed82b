"""WID: one partial aggregate per group and open window.

Bucket has tagged each row with its range of wids; here a wid is one more grouping attribute. Rows
update the partial aggregates of all their windows when they come, and are not kept. A promise on
the wid closes windows: their results go out, and then the promise, as bounds on the windows' ends
and starts. An empty window has no result.

State is (group, wid) -> partials, where neighbouring wids of a group with the same rows behind them
share one entry, for a *range* of wids. It stands in segments sorted by the first wid, so the
windows to close are at the beginning of each. A batch adds a segment; when younger segments
together have grown as large as an older one, they are merged with it. So a batch costs what is new
in it, whether that is one row or a million, and however many windows are open.
Spec: window-queries 3.3, 3.4, Fig 6-4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates import Columns, Grouping, Ids, take
from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.aggregation.keys import Codes, code_column, code_integers, combine, group_rows
from penstock.kernel.aggregation.panes.ranges import Ranges, stack
from penstock.kernel.aggregation.wid.bucket import WID, WID_END, WID_START
from penstock.kernel.aggregation.wid.overlay import Overlay, overlay, repeat_ranges
from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.patterns import matching
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.segments import Segment, Table, table, where
from penstock.kernel.state import State
from penstock.model.aggregates import Aggregate
from penstock.model.punctuation import Punctuation
from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.model.timestamps import BEGINNING, END
from penstock.windows.tagged import Tagged

#: Layers of ranges merged in one go: more would cut each range into more pieces at once.
FAN_IN = 32


@dataclass
class WidState(State):
    """Partials; windows below `closed` are over; `late` rows came too late for some of theirs."""

    partials: Table = table(WID_START)
    closed: int = BEGINNING
    started: int = BEGINNING  # what was promised last about the windows' starts
    late: int = 0


class WidAggregate(Operator):
    """Aggregates rows that carry a range of wids."""

    state: WidState
    #: Whether a promise about some groups can close their windows before those of others.
    closes_groups = True
    #: Whether a row that is too late for one of its windows is left out of all of them.
    consistent = False

    def __init__(
        self,
        groups: Sequence[str],
        results: Sequence[tuple[str, Aggregate]],
        window: Tagged,
    ) -> None:
        super().__init__()
        self.state = WidState()
        self._window = window
        self._calculation = AggregateSet(groups, results)

    def useful(self, wanted: frozenset[str] | None) -> frozenset[str]:
        return frozenset([WID])

    # -- rows ---------------------------------------------------------------------------------

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        rows = self._open(block.rows)
        if not rows.height:
            return
        rows = self._prepared(rows)
        start, stop = rows.get_column(WID_START).to_numpy(), rows.get_column(WID_END).to_numpy()
        # Where all ranges are equally long, the end of one tells its beginning.
        added = self._ranges(rows, start, stop, end_tells=self._window.equally_long)
        self._append(self._merge(added, layers_of(added)))

    def _ranges(self, rows: pl.DataFrame, start: Ids, stop: Ids, *, end_tells: bool) -> Ranges:
        """The partials of prepared rows, one for each group and range of wids that occurs."""
        keys = {name: rows.get_column(name) for name in self._calculation.groups}
        digits = [*map(code_column, keys.values()), code_integers(stop)]
        if not end_tells:
            digits.append(code_integers(stop - start))
        cells = combine(digits, rows.height).groups()
        one = cells.members
        partials = self._partials(rows, cells)
        return Ranges(start[one], stop[one], take(keys, one) | partials)

    def _prepared(self, rows: pl.DataFrame) -> pl.DataFrame:
        return self._calculation.prepare(rows)

    def _partials(self, rows: pl.DataFrame, cells: Grouping) -> dict[str, pl.Series]:
        return self._calculation.start(rows, cells)

    def _open(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows without the windows that are closed, which must not open again."""
        closed = self.state.closed
        start = rows.get_column(WID_START).to_numpy()
        if not len(start) or start.min() >= closed:
            return rows
        self.state.late += int((start < closed).sum())
        if self.consistent:
            return rows.filter(pl.col(WID_START) >= closed)
        rows = rows.with_columns(pl.col(WID_START).clip(lower_bound=closed))
        return rows.filter(pl.col(WID_START) < pl.col(WID_END))

    # -- promises -----------------------------------------------------------------------------

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        bound = punctuation.bound
        if punctuation.on != WID or bound <= self.state.closed:
            return
        closing = self._close(bound)
        if closing is not None:
            rows = self._present(closing)
            if rows.height:
                out.batch(Block(rows))
        self.state.closed = bound
        self._promise(bound, out)

    def on_pattern(self, port: int, punctuation: Punctuation, out: Output) -> None:
        """Close windows of the groups that are meant; others stay open.

        A pattern about anything but groups says nothing about a whole group.
        """
        groups = self._calculation.groups
        if not self.closes_groups or punctuation.on != WID:
            return
        if punctuation.bound <= self.state.closed:
            return
        if any(name not in groups for name, _ in punctuation.where):
            return
        closing = self._close_some(punctuation.bound, matching(punctuation.where))
        if closing is not None:
            rows = self._present(closing)
            if rows.height:
                out.batch(Block(rows))
        final = punctuation.bound >= END
        start, end = (END, END) if final else self._window.covers(punctuation.bound)
        out.punctuation(Punctuation(WINDOW_END, end, punctuation.where))
        if start is not None:
            out.punctuation(Punctuation(WINDOW_START, start, punctuation.where))

    # -- what it waits for --------------------------------------------------------------------

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        first = self._first_open()
        return () if first is None else self._closing(first)

    def _first_open(self) -> int | None:
        """The first window that is open and has rows."""
        first = self.state.partials.lowest()
        return None if first is None else max(first, self.state.closed)

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        first, stop = times[WID], times[WID_END]
        assert first is not None and stop is not None
        first = max(first, self.state.closed)
        return self._closing(first) if first < stop else ()

    def _closing(self, wid: int, *, certain: bool = True) -> tuple[Waiting]:
        """The results of a window."""
        start, end = self._window.covers(wid)
        times = {WINDOW_START: start, WINDOW_END: end}
        return (Waiting((Need(0, WID, wid + 1),), times, certain),)

    def needed(self, on: str, bound: int) -> Needs | None:
        if on not in (WINDOW_START, WINDOW_END):
            return None
        wid = self._window.first_covering(int(on == WINDOW_END), bound)
        return None if wid is None else Needs((Need(0, WID, wid),))

    def known(self, port: int, on: str) -> int:
        return self.state.closed if on == WID else BEGINNING

    def _promise(self, bound: int, out: Output) -> None:
        """What the end of windows below the bound says about results to come."""
        start, end = (END, END) if bound >= END else self._window.covers(bound)
        out.punctuation(Punctuation(WINDOW_END, end))
        # Several windows may begin together, or all with the stream.
        if start is not None and start > self.state.started:
            self.state.started = start
            out.punctuation(Punctuation(WINDOW_START, start))

    def _close(self, bound: int) -> Ranges | None:
        """Take what belongs to windows below the bound out of the state."""
        return self._take_out(bound, self.state.partials.take_below(bound))

    def _close_some(self, bound: int, meant: pl.Expr) -> Ranges | None:
        """The same for some groups only, whose rows stand among those of others."""
        closing = where(meant & (pl.col(WID_START) < bound))
        return self._take_out(bound, self.state.partials.take_where(closing))

    def _take_out(self, bound: int, taken: list[pl.DataFrame]) -> Ranges | None:
        """Of the rows taken, what lies below the bound; the rest goes back to what is kept."""
        if not taken:
            return None
        ranges, layers = stack(taken)
        ranges, index = ranges.cut_at(bound)
        ranges = self._merge(ranges, layers[index])
        below = ranges.start < bound
        if not below.all():
            rest = Segment(ranges.take(np.flatnonzero(~below)).segment())
            self.state.partials.segments.insert(0, rest)
            ranges = ranges.take(np.flatnonzero(below))
        return ranges

    def _present(self, ranges: Ranges) -> pl.DataFrame:
        """One result per group and window."""
        columns = self._calculation.keys(ranges.columns)
        columns |= self._calculation.results(ranges.columns)
        source, wids = self._windows(ranges)
        columns = take(columns, source) if source is not None else columns
        return present(columns, *self._window.covers(wids))

    def _windows(self, ranges: Ranges) -> tuple[Ids | None, Ids]:
        """The windows in each range: the number of its range (None: one in each), and its wid."""
        lengths = ranges.stop - ranges.start
        if lengths.max() == 1:
            return None, ranges.start
        source = np.repeat(np.arange(len(ranges)), lengths)
        return source, repeat_ranges(ranges.start, lengths)

    # -- state --------------------------------------------------------------------------------

    def _append(self, added: Ranges) -> None:
        def merge(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
            return self._merge(*stack(parts)).segment()

        self.state.partials.append(added.segment(), merge)

    def _merge(self, ranges: Ranges, layers: Ids) -> Ranges:
        """One layer of several. Within a layer, ranges of one group do not overlap."""
        count = int(layers.max()) + 1
        if count == 1:
            return ranges
        groups = group_rows(self._calculation.keys(ranges.columns).values(), len(ranges))
        ids = groups.ids
        while count > 1:
            layers, count = layers // FAN_IN, -(-count // FAN_IN)
            apart = Codes(ids * count + layers, groups.size * count)
            cut = overlay(apart, ranges.start, ranges.stop)
            partials = self._calculation.merge(self._laid(ranges, cut), cut.pieces)
            keys = take(self._calculation.keys(ranges.columns), cut.relative)
            ranges = Ranges(cut.start, cut.stop, keys | partials)
            ids, layers = ids[cut.relative], layers[cut.relative]
        return ranges

    def _laid(self, ranges: Ranges, cut: Overlay) -> dict[str, pl.Series]:
        """For each range on each piece, its partials."""
        return take(self._calculation.kept(ranges.columns), cut.source)


def layers_of(added: Ranges) -> Ids:
    """Layers of ranges that do not overlap, for the ranges of one batch.

    Equal ranges belong to different groups, and so do not overlap; neither do two that begin at
    least as far apart as the longest is long.
    """
    lengths = added.stop - added.start
    begins = code_integers(added.start % lengths.max())
    return combine((begins, code_integers(lengths)), len(added)).compact().codes


def present(columns: Columns, start: Ids | None, end: Ids) -> pl.DataFrame:
    """Results with what their windows cover."""
    starts = (
        pl.Series(start)
        if start is not None
        else pl.Series([None], dtype=pl.Int64).new_from_index(0, len(end))
    )
    rows = {**columns, WINDOW_START: starts, WINDOW_END: pl.Series(end)}
    return pl.DataFrame([column.alias(name) for name, column in rows.items()])
