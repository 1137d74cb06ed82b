"""AdaptWID: per group, partial aggregates or rows, whichever takes less memory.

    lazy           the group's rows wait in a buffer that all lazy groups share; a window is
                   computed from them when it closes
    eager          rows update partials, as in WID
    transitional   was eager and is lazy again: new rows wait, and the partials that are there stay
                   until their windows close

A group begins lazy. It becomes eager, and its rows are folded into partials, when so many rows wait
that partials would be smaller; it becomes lazy when few of its rows are left (`adapt_cost`). Every
row is in one place or the other for all its windows, and a window that closes is merged from both,
so answers are exact whatever is decided, and whenever.

A group is eager if it has partials and is not listed as transitional: so most of what has to be
known of a group follows from what is kept anyway. New rows first go to the buffer. Once they are
many compared with what is kept, all groups are counted, and rows of eager groups leave the buffer:
a row is looked at a bounded number of times, whether it comes alone or with a million others.
Spec: window-queries 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from penstock.kernel.aggregates.count import Leaving
from penstock.kernel.aggregates.grouping import Ids, concat, frame, take
from penstock.kernel.aggregates.keys import group_rows
from penstock.kernel.aggregation.adapt.cost import Conditions, Thresholds, thresholds
from penstock.kernel.aggregation.adapt.monitor import begin, end, mean_offset, new_shares
from penstock.kernel.aggregation.driver import Results
from penstock.kernel.aggregation.panes.ranges import Ranges, stack
from penstock.kernel.aggregation.wid.bucket import WID_END, WID_START
from penstock.kernel.aggregation.wid.overlay import Overlay
from penstock.kernel.aggregation.wid.wid import WidAggregate, WidState, layers_of
from penstock.kernel.block import Block
from penstock.kernel.operator import Output
from penstock.kernel.operators.tag import SOURCE
from penstock.kernel.segments import Mask, SegmentTable, table
from penstock.model.timestamps import BEGINNING, END
from penstock.windows.sliding import Sliding

#: Groups are counted anew when this many times the new rows make up all that is kept.
PATIENCE = 8

LEAVING = Leaving(None, None)
[_LEAVING] = LEAVING.columns


@dataclass
class AdaptState(WidState):
    """Partials of eager groups, rows of lazy ones, and what is watched of the stream."""

    buffer: SegmentTable = table(WID_END)
    transitional: SegmentTable = table()  # keys of groups
    uncounted: int = 0  # rows that came since groups were counted
    row_bytes: float = 0.0
    entry_bytes: float = 0.0
    duration: float = 0.0  # wed
    begun: list[tuple[int, int]] = field(default_factory=list)
    highs: dict[str, int] = field(default_factory=dict)
    came: dict[str, int] = field(default_factory=dict)  # rows since a window closed
    shares: dict[str, float] = field(default_factory=dict)
    turned_eager: int = 0
    turned_lazy: int = 0


class AdaptWid(WidAggregate):
    """Aggregates rows that carry a range of wids, in the memory that either way would take."""

    state: AdaptState
    state_class = AdaptState
    window: Sliding

    def __init__(
        self,
        groups: Sequence[str],
        results: Results,
        window: Sliding,
        thresholds: Callable[[Conditions], Thresholds] = thresholds,
        *,
        consistent: bool = False,
    ) -> None:
        super().__init__(groups, results, window, consistent=consistent)
        self.state.duration = float(window.range)
        self._thresholds = thresholds
        self.aggregates.keep(LEAVING)

    # -- rows ---------------------------------------------------------------------------------

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        rows = self._open(block.rows)
        if rows.height:
            self.add(self.aggregates.prepare(rows))

    def add(self, rows: pl.DataFrame) -> None:
        """Take in prepared rows, none of which is late."""
        self._watch(rows)
        state = self.state
        # By the last window, so that rows that are done stand at the front.
        state.buffer.append_sorted(rows.select(self._buffered))
        state.uncounted += rows.height
        if PATIENCE * state.uncounted >= state.buffer.rows + state.partials.rows:
            self._settle()

    def _starts(self) -> Iterator[int]:
        yield from super()._starts()
        for rows in self.state.buffer:
            yield int(self._wids(rows)[0].min())

    @property
    def _buffered(self) -> list[str]:
        """The columns that are kept of a row."""
        groups = self.aggregates.groups
        kept = [*groups, *sorted(self.aggregates.arguments.difference(groups)), WID_END]
        # Where all ranges are equally long, the end of one tells its beginning.
        return kept if self.window.equally_long else [*kept, WID_START]

    def _settle(self) -> None:
        """Fold the rows of groups that are eager, or become it now, into partials."""
        self.state.uncounted = 0
        buffered = _concat(self.state.buffer)
        if buffered is None:
            return
        self._measure(buffered)
        census = self._census(buffered)
        becoming = ~census.is_eager & (census.volumes > self._now().up)
        self.state.turned_eager += int(becoming.sum())
        leaving = (census.is_eager | becoming)[census.buffered]
        if leaving.any():
            self._leave_transition(becoming[census.transitional])
            self._fold(buffered, leaving)

    def _fold(self, buffered: pl.DataFrame, leaving: Mask) -> None:
        """Let rows of the buffer go, into partials."""
        rows = buffered if leaving.all() else buffered.filter(pl.Series(leaving))
        start, stop = self._wids(rows)
        added = self._ranges(rows, start, stop, end_tells=self.window.equally_long)
        ranges, layers = stack([*self.state.partials, added.segment()])
        # The ranges of one batch may overlap; those of partials that are there do not.
        new = slice(len(ranges) - len(added), None)
        layers[new] += layers_of(Ranges(ranges.start[new], ranges.stop[new], {}))
        self.state.partials.replace(self._merge(ranges, layers).segment())
        self.state.buffer.clear()
        if not leaving.all():
            self.state.buffer.append_sorted(buffered.filter(pl.Series(~leaving)))

    def _wids(self, rows: pl.DataFrame) -> tuple[Ids, Ids]:
        """The ranges of buffered rows, without the windows that are closed."""
        stop = rows.get_column(WID_END).to_numpy()
        if self.window.equally_long:
            start = stop - self.window.range // self.window.slide
        else:
            start = rows.get_column(WID_START).to_numpy()
        return np.maximum(start, self.state.closed), stop

    # -- closing ------------------------------------------------------------------------------

    def complete(self, bound: int) -> Ranges | None:
        """Take out what belongs to windows below the bound, for who presents it in another way."""
        closing = self._take_below(bound)
        self.state.closed = bound
        return closing

    def _take_below(self, bound: int) -> Ranges | None:
        """What closes is merged from partials and from rows; rows that are done are purged."""
        eager, lazy = super()._take_below(bound), self._take_buffered(bound)
        self._end_windows(bound)
        self._relax()
        if eager is None or lazy is None:
            return lazy if eager is None else eager
        ranges, layers = stack([eager.segment(), lazy.segment()])
        return self._merge(ranges, layers)

    def _take_buffered(self, bound: int) -> Ranges | None:
        found = []

        def done(rows: pl.DataFrame) -> int:
            start, stop = self._wids(rows)
            closing = start < bound
            if closing.any():
                found.append(rows.filter(pl.Series(closing)))
            return int(np.searchsorted(stop, bound, side="right"))

        self.state.buffer.cut(done)
        if not found:
            return None
        rows = pl.concat(found)
        start, stop = self._wids(rows)
        ranges = self._ranges(rows, start, np.minimum(stop, bound), end_tells=False)
        return self._merge(ranges, layers_of(ranges))

    def _take_some(self, bound: int, meant: pl.Expr) -> Ranges | None:
        """Where groups close by themselves, their rows become partials first."""
        self.fold(meant)
        return super()._take_some(bound, meant)

    def fold(self, meant: pl.Expr) -> None:
        """Make partials of all rows of some groups."""
        buffered = _concat(self.state.buffer)
        if buffered is not None:
            leaving = buffered.select(meant.alias("x")).to_series().to_numpy()
            if leaving.any():
                self._fold(buffered, leaving)

    def _relax(self) -> None:
        """Groups with few rows left become lazy; those whose last partials are out are that."""
        if not self.state.partials.segments:
            self.state.transitional.clear()
            return
        census = self._census(_concat(self.state.buffer))
        few = np.flatnonzero(census.is_eager & (census.volumes < self._now().down))
        self.state.turned_lazy += len(few)
        self._leave_transition(~census.has_partials[census.transitional])
        if len(few):
            columns = take(census.keys, few)
            # Without keys there is one group, and a column has to say that it is there.
            columns = columns or {_LEAVING: pl.Series([0], dtype=pl.UInt32)}
            self.state.transitional.append(frame(columns))

    def _leave_transition(self, leaving: Mask) -> None:
        if leaving.any():
            listed = _concat(self.state.transitional)
            assert listed is not None
            self.state.transitional.replace(listed.filter(pl.Series(~leaving)))

    def _laid(self, ranges: Ranges, cut: Overlay) -> dict[str, pl.Series]:
        """A row leaves with the last piece of its range only."""
        partials = super()._laid(ranges, cut)
        is_last = ranges.stop[cut.source] == cut.stop[cut.pieces.ids]
        counts = partials[_LEAVING].to_numpy() * is_last
        return partials | {_LEAVING: pl.Series(counts)}

    # -- what is known of groups --------------------------------------------------------------

    def _census(self, buffered: pl.DataFrame | None) -> Census:
        """Count all groups."""
        partials, listed = _concat(self.state.partials), _concat(self.state.transitional)
        frames = (buffered, partials, listed)
        heights = [0 if rows is None else rows.height for rows in frames]
        there = [rows for rows in frames if rows is not None]
        keys = concat(there, self.aggregates.groups)
        groups = group_rows(keys.values(), sum(heights))
        in_buffer, in_partials, in_list = np.split(groups.ids, np.cumsum(heights)[:2])
        leaving = () if partials is None else partials.get_column(_LEAVING).to_numpy()
        volumes = np.bincount(in_buffer, minlength=groups.size).astype(np.float64)
        volumes += np.bincount(in_partials, leaving, minlength=groups.size)
        has_partials, is_listed = np.zeros((2, groups.size), dtype=np.bool_)
        has_partials[in_partials] = True
        is_listed[in_list] = True
        return Census(
            keys=take(keys, groups.members),
            buffered=in_buffer,
            transitional=in_list,
            volumes=volumes,
            has_partials=has_partials,
            is_eager=has_partials & ~is_listed,
        )

    # -- what is known of the stream ----------------------------------------------------------

    def _watch(self, rows: pl.DataFrame) -> None:
        """Note how far sources are, and which windows begin."""
        state = self.state
        times = rows.get_column(self.window.on).cast(pl.Int64).to_numpy()
        if SOURCE in rows.columns:
            sources = rows.get_column(SOURCE).to_numpy()
            parts = [(str(number), times[sources == number]) for number in np.unique(sources)]
        else:
            parts = [("0", times)]
        for name, values in parts:
            state.highs[name] = max(state.highs.get(name, BEGINNING), int(values.max()))
            state.came[name] = state.came.get(name, 0) + len(values)
        low = int(times.min())
        if state.closed > BEGINNING:
            # A bound from long ago says nothing about windows that begin now.
            low = max(low, self.window.covers(state.closed)[1] - self.window.slide)
        stop = int(rows.get_column(WID_END).to_numpy().max())
        state.begun = begin(state.begun, stop, low)

    def _end_windows(self, bound: int) -> None:
        state = self.state
        if bound < END and state.highs:
            high = max(state.highs.values())
            state.duration, state.begun = end(state.begun, bound, high, state.duration)
        state.shares = new_shares(state.shares, state.came)
        state.came = {}

    def _measure(self, buffered: pl.DataFrame) -> None:
        """What a row costs, and what an entry of partials does."""
        state = self.state
        state.row_bytes = buffered.estimated_size() / buffered.height
        if state.partials.segments:
            state.entry_bytes = state.partials.bytes / state.partials.rows
        elif not state.entry_bytes:
            one = buffered.head(1)
            entry = self._ranges(one, *self._wids(one), end_tells=True).segment()
            state.entry_bytes = float(entry.estimated_size())

    def _now(self) -> Thresholds:
        state = self.state
        lag = mean_offset(state.highs, state.shares)
        return self._thresholds(
            Conditions(state.row_bytes, state.entry_bytes, state.duration, self.window.slide, lag)
        )


@dataclass(frozen=True, eq=False)
class Census:
    """All groups, numbered; the numbers of those in the buffer and on the list, row by row."""

    keys: dict[str, pl.Series]
    buffered: Ids
    transitional: Ids
    volumes: npt.NDArray[np.float64]
    has_partials: Mask
    is_eager: Mask


def _concat(table: SegmentTable) -> pl.DataFrame | None:
    """All rows of a table; None: there are none."""
    return pl.concat(table) if table.segments else None
