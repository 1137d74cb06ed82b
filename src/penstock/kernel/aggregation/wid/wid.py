"""WID: one partial aggregate per group and open window.

Bucket has tagged each row with its range of wids; here a wid is one more grouping attribute. Rows
update the partial aggregates of all their windows when they come, and are not kept. A bound on
the wid closes windows: their results go out, and then the bound, as bounds on the windows' ends
and starts. An empty window has no result.

State is (group, wid) -> partials, where neighbouring wids of a group with the same rows behind them
share one entry, for a *range* of wids. It stands in segments sorted by the first wid, so the
windows to close are at the beginning of each. A batch adds a segment; when younger segments
together have grown as large as an older one, they are merged with it. So a batch costs what is new
in it, whether that is one row or a million, and however many windows are open.
Spec: window-queries 3.3, 3.4, Fig 6-4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Ids, take
from penstock.kernel.aggregates.keys import Codes, Groups, code_integers, combine, group_rows
from penstock.kernel.aggregation.driver import IdDriver, Results, WindowState
from penstock.kernel.aggregation.open_windows import OpenWindows
from penstock.kernel.aggregation.panes.ranges import Ranges, stack
from penstock.kernel.aggregation.preaggregating import Preaggregating, Selections
from penstock.kernel.aggregation.wid.bucket import WID, WID_END, WID_START
from penstock.kernel.aggregation.wid.overlay import Overlay, overlay
from penstock.kernel.block import Block
from penstock.kernel.operator import Output
from penstock.kernel.progress.patterns import matching
from penstock.kernel.progress.release import Times, Waiting
from penstock.kernel.segments import Segment, SegmentTable, table
from penstock.kernel.segments import where as where_holds
from penstock.model.punctuation import Where
from penstock.model.timestamps import BEGINNING
from penstock.windows.tagged import Tagged

#: Layers of ranges merged in one go: more would cut each range into more pieces at once.
FAN_IN = 32


@dataclass
class WidState(WindowState):
    """Partials of windows that are open, and how many rows came in how many blocks."""

    partials: SegmentTable = table(WID_START)
    rows_in: int = 0
    blocks_in: int = 0


class Closed(NamedTuple):
    """The results of windows that are over, and the segments that are kept then."""

    results: pl.DataFrame | None
    kept: list[Segment]


class Companions(Protocol):
    """Others with the same windows, groups and functions (`closing_together`)."""

    def close(self, one: WidAggregate, bound: int) -> Closed | None: ...


class WidAggregate(IdDriver, Preaggregating):
    """Aggregates rows that carry a range of wids.

    `consistent`: a row that is too late for one of its windows is left out of all of them.
    """

    state: WidState
    state_class = WidState

    def __init__(
        self, groups: Sequence[str], results: Results, window: Tagged, *, consistent: bool = False
    ) -> None:
        super().__init__(WID, groups, results, window)
        self._consistent = consistent
        #: Those that are alike but for the rows they take hold these in common.
        self.kind = (tuple(groups), tuple(results), window, consistent)
        self.companions: Companions | None = None
        self._open_windows = OpenWindows(window)

    # -- rows ---------------------------------------------------------------------------------

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        rows = self._open(block.rows)
        if not rows.height:
            return
        self.state.rows_in += rows.height
        self.state.blocks_in += 1
        self.absorb(self.preaggregated(rows))

    def preaggregated(self, rows: pl.DataFrame) -> pl.DataFrame:
        """What is kept of rows that carry wids; it depends on no state, so anybody can make it."""
        rows = self._prepared(rows)
        start, stop = rows.get_column(WID_START).to_numpy(), rows.get_column(WID_END).to_numpy()
        # Where all ranges are equally long, the end of one tells its beginning.
        added = self._ranges(rows, start, stop, end_tells=self.window.equally_long)
        return self._merge(added, layers_of(added)).segment()

    def selections(self, rows: pl.DataFrame, cells: Groups | None = None) -> Selections:
        rows = self._prepared(rows)
        if cells is None:
            start, stop = rows.get_column(WID_START).to_numpy(), rows.get_column(WID_END).to_numpy()
            cells = self._cells(rows, start, stop, end_tells=self.window.equally_long)
        return Selections(self.aggregates, rows, cells, (WID_START, WID_END))

    def settled(self, started: pl.DataFrame) -> pl.DataFrame:
        added, _ = stack([started])
        return self._merge(added, layers_of(added)).segment()

    def absorb(self, folded: pl.DataFrame) -> None:
        """Add what is kept of rows, none of which is late for any of its windows."""
        self._check_open(folded)
        self.state.partials.append(folded, self.merged)

    def _check_open(self, folded: pl.DataFrame) -> None:
        """Refuse rows that open too many windows."""
        self._open_windows.add(*_ranges_of(folded), self._known_ranges)

    def _known_ranges(self) -> tuple[Ids, Ids]:
        found = [_ranges_of(rows) for rows in self.state.partials]
        nothing = np.empty(0, dtype=np.int64)
        starts, stops = zip(*found, strict=True) if found else ((nothing,), (nothing,))
        # What lies below has its results already.
        return np.maximum(np.concatenate(starts), self.state.closed), np.concatenate(stops)

    def merged(self, folded: Sequence[pl.DataFrame]) -> pl.DataFrame:
        return self._merge(*stack(folded)).segment()

    def _ranges(self, rows: pl.DataFrame, start: Ids, stop: Ids, *, end_tells: bool) -> Ranges:
        """The partials of prepared rows, one for each group and range of wids that occurs."""
        cells = self._cells(rows, start, stop, end_tells=end_tells)
        one = cells.members
        return Ranges(start[one], stop[one], self._partials(rows, cells))

    def _cells(self, rows: pl.DataFrame, start: Ids, stop: Ids, *, end_tells: bool) -> Groups:
        lengths = () if end_tells else (code_integers(stop - start),)
        return self.aggregates.cells(rows.to_dict(), code_integers(stop), *lengths)

    def _prepared(self, rows: pl.DataFrame) -> pl.DataFrame:
        return self.aggregates.prepare(rows)

    def _partials(self, rows: pl.DataFrame, cells: Groups) -> dict[str, pl.Series]:
        return self.aggregates.started(rows, cells)

    def _open(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows without the windows that are closed, which must not open again."""
        closed = self.state.closed
        start = rows.get_column(WID_START).to_numpy()
        if not len(start) or start.min() >= closed:
            return rows
        self.state.late += int((start < closed).sum())
        if self._consistent:
            return rows.filter(pl.col(WID_START) >= closed)
        rows = rows.with_columns(pl.col(WID_START).clip(lower_bound=closed))
        return rows.filter(pl.col(WID_START) < pl.col(WID_END))

    # -- closing ------------------------------------------------------------------------------

    def _close(self, received: int, bound: int) -> pl.DataFrame | None:
        closed = None if self.companions is None else self.companions.close(self, bound)
        if closed is None:
            return self.presented(self._take_below(bound))
        self.state.partials.segments = closed.kept
        return closed.results

    def _close_some(self, received: int, bound: int, where: Where) -> pl.DataFrame | None:
        return self.presented(self._take_some(bound, matching(where)))

    def _take_below(self, bound: int) -> Ranges | None:
        """Take what belongs to windows below the bound out of the state."""
        return self._take_out(bound, self.state.partials.take_below(bound))

    def _take_some(self, bound: int, meant: pl.Expr) -> Ranges | None:
        """The same for some groups only, whose rows stand among those of others."""
        closing = where_holds(meant & (pl.col(WID_START) < bound))
        return self._take_out(bound, self.state.partials.take_where(closing))

    def _take_out(self, bound: int, taken: list[pl.DataFrame]) -> Ranges | None:
        """Of the rows taken, what lies below the bound; the rest goes back to what is kept."""
        if not taken:
            return None
        below, rest = self.parted(bound, *stack(taken))
        if rest is not None:
            self.state.partials.segments.insert(0, Segment(rest.segment()))
        return below

    def parted(self, bound: int, ranges: Ranges, layers: Ids) -> tuple[Ranges, Ranges | None]:
        """One layer of several, as `_merge` has it, below the bound and, if there is any, above."""
        if (ranges.stop > bound).any():
            ranges, index = ranges.cut_at(bound)
            layers = layers[index]
        ranges = self._merge(ranges, layers)
        below = ranges.start < bound
        if below.all():
            return ranges, None
        return ranges.take(np.flatnonzero(below)), ranges.take(np.flatnonzero(~below))

    def by_one_more(self, group: str) -> WidAggregate:
        """The same with one more attribute to group by, in front of the others."""
        groups, results, window, consistent = self.kind
        return WidAggregate((group, *groups), results, window, consistent=consistent)

    # -- what it waits for --------------------------------------------------------------------

    def first_open(self) -> int | None:
        first = min(self._starts(), default=None)
        return None if first is None else max(first, self.state.closed)

    def _starts(self) -> Iterator[int]:
        """The first window of each segment that is kept."""
        return (int(rows.get_column(WID_START)[0]) for rows in self.state.partials)

    def first_untouched(self) -> int:
        stops = (int(rows.get_column(WID_END).to_numpy().max()) for rows in self.state.partials)
        return max(self.state.closed, *stops, BEGINNING)

    def _intake(self) -> tuple[int, int]:
        return self.state.rows_in, self.state.blocks_in

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        first, stop = times[WID], times[WID_END]
        assert first is not None and stop is not None
        first = max(first, self.state.closed)
        return self._closing(first) if first < stop else ()

    # -- state --------------------------------------------------------------------------------

    def _merge(self, ranges: Ranges, layers: Ids) -> Ranges:
        """One layer of several. Within a layer, ranges of one group do not overlap."""
        count = int(layers.max()) + 1
        if count == 1:
            return ranges
        groups = group_rows(self.aggregates.keys(ranges.columns).values(), len(ranges))
        ids = groups.ids
        while count > 1:
            layers, count = layers // FAN_IN, -(-count // FAN_IN)
            apart = Codes(ids * count + layers, groups.size * count)
            cut = overlay(apart, ranges.start, ranges.stop)
            partials = self.aggregates.merge(self._laid(ranges, cut), cut.pieces)
            keys = take(self.aggregates.keys(ranges.columns), cut.relative)
            ranges = Ranges(cut.start, cut.stop, keys | partials)
            ids, layers = ids[cut.relative], layers[cut.relative]
        return ranges

    def _laid(self, ranges: Ranges, cut: Overlay) -> dict[str, pl.Series]:
        """For each range on each piece, its partials."""
        return take(self.aggregates.kept(ranges.columns), cut.source)


def _ranges_of(folded: pl.DataFrame) -> tuple[Ids, Ids]:
    return folded.get_column(WID_START).to_numpy(), folded.get_column(WID_END).to_numpy()


def layers_of(added: Ranges) -> Ids:
    """Layers of ranges that do not overlap, for the ranges of one batch.

    Equal ranges belong to different groups, and so do not overlap; neither do two that begin at
    least as far apart as the longest is long.
    """
    lengths = added.stop - added.start
    begins = code_integers(added.start % lengths.max())
    return combine((begins, code_integers(lengths)), len(added)).compact().codes
