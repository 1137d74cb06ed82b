"""PartitionedAggregate: the last rows of each partition, aggregated in panes.

A row's place is its rank in its partition, so each partition has a clock of its own: the number of
its rows so far. Ranks are final once a bound on the row number says that nothing comes in
between; until then rows wait. Partials are kept per group and *pane*, as many rows as both RANGE
and SLIDE are multiples of. When a partition's clock passes the end of a window, the window is put
together from its panes, and panes that no later window needs are forgotten when segments merge.
Partitions end their windows one by one, so no bound holds for the results of all.
Spec: window-queries 2.4, 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Ids, frame
from penstock.kernel.aggregates.keys import group_rows
from penstock.kernel.aggregation.driver import Results, WindowDriver, WindowState, present
from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Output
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.segments import SegmentTable, table
from penstock.kernel.segments import where as where_holds
from penstock.model.punctuation import Where
from penstock.model.timestamps import END
from penstock.windows.partitioned import Partitioned

_PANE, _COUNT = "__pane", "__count"


@dataclass
class PartitionedState(WindowState):
    """Rows without a rank yet (those below `closed` have one), counts of partitions, and panes."""

    waiting: SegmentTable = table()
    counts: SegmentTable = table()
    panes: SegmentTable = table()


class PartitionedAggregate(WindowDriver):
    """Aggregates RANGE rows of each partition at every SLIDE of its rows."""

    state: PartitionedState
    state_class = PartitionedState
    closes_groups = False  # rows of other partitions are counted by other clocks

    def __init__(self, groups: Sequence[str], results: Results, window: Partitioned) -> None:
        super().__init__(window.on, groups, results)
        self.state.waiting.on = window.on
        self._window = window
        self._partition = list(window.partition)
        self._pane = math.gcd(window.range, window.slide)

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        self.state.waiting.append(self._in_time(block.rows))

    def _close(self, received: int, bound: int) -> pl.DataFrame | None:
        found, on = [], self._window.on
        ready = self.state.waiting.take_where(where_holds(pl.col(on) < bound))
        if ready:
            rows = pl.concat(ready).sort(on, maintain_order=True)
            found.append(self._take_in(self.aggregates.prepare(rows)))
        if bound >= END:
            found.append(self._finish())
        results = [rows for rows in found if rows is not None]
        return pl.concat(results) if results else None

    def _announce(self, bound: int, where: Where, out: Output) -> None:
        """Partitions end their windows one by one: only the end is the end of all."""
        if bound >= END:
            super()._announce(bound, where, out)

    def _ends(self, bound: int) -> tuple[int | None, int]:
        return END, END

    # -- what it waits for --------------------------------------------------------------------

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        """Which rows come next in which partition is not known; the end comes for all of them."""
        on, waiting = self._window.on, self.state.waiting.extent()
        if waiting is not None:
            yield Waiting((Need(0, on, waiting[0] + 1),), {}, certain=False)
        elif self.state.counts.rows:
            yield Waiting((Need(0, on, END),), {}, certain=False)

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        value = times[self._window.on]
        if value is not None:
            yield Waiting((Need(0, self._window.on, value + 1),), {}, certain=False)

    def needed(self, on: str, bound: int) -> Needs | None:
        return Needs((Need(0, self._window.on, END),))

    # -- rows ---------------------------------------------------------------------------------

    def _take_in(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Rank rows, add them to their panes; gives the windows that they complete."""
        partitions = group_rows(map(rows.get_column, self._partition), rows.height)
        named = rows.select(self._partition)[partitions.members]
        before = self._counted(named)
        added = np.bincount(partitions.ids, minlength=partitions.size)
        order = np.argsort(partitions.ids, kind="stable")
        first = np.cumsum(added) - added
        ranks = np.empty(rows.height, dtype=np.int64)
        ranks[order] = np.arange(rows.height) - np.repeat(first - before, added)
        after = before + added
        self._add_panes(rows, ranks // self._pane)
        counts = named.with_columns(pl.Series(_COUNT, after))
        self.state.counts.append(counts, self._latest_counts)
        slide = self._window.slide
        return self._results(named, before // slide, after // slide)

    def _counted(self, partitions: pl.DataFrame) -> Ids:
        """How many rows each of these partitions had so far."""
        if not self.state.counts.segments:
            return np.zeros(partitions.height, dtype=np.int64)
        known = self._latest_counts(list(self.state.counts))
        joined = partitions.join(
            known, on=self._partition, how="left", nulls_equal=True, maintain_order="left"
        )
        return joined.get_column(_COUNT).fill_null(0).to_numpy()

    def _latest_counts(self, segments: Sequence[pl.DataFrame]) -> pl.DataFrame:
        return pl.concat(segments).group_by(self._partition).agg(pl.col(_COUNT).max())

    def _add_panes(self, rows: pl.DataFrame, panes: Ids) -> None:
        columns, panes = self.aggregates.started_by(rows, panes)
        self.state.panes.append(frame({**columns, _PANE: pl.Series(panes)}), self._level)

    def _level(self, segments: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """One segment of several, without panes whose windows are over."""
        rows = pl.concat(segments)
        closed = self._counted(rows.select(self._partition)) // self._window.slide
        _, stop = self._windows_of(rows.get_column(_PANE).to_numpy())
        columns = rows.filter(stop > closed).to_dict()
        merged, panes = self.aggregates.merged_by(columns, columns[_PANE].to_numpy())
        return frame({**merged, _PANE: pl.Series(panes)})

    def _windows_of(self, panes: Ids) -> tuple[Ids, Ids]:
        """The first window of each pane, and the first behind it that does not hold it."""
        ranks = panes * self._pane
        return ranks // self._window.slide, (ranks + self._window.range) // self._window.slide

    # -- results ------------------------------------------------------------------------------

    def _results(self, partitions: pl.DataFrame, first: Ids, stop: Ids) -> pl.DataFrame | None:
        """The windows first … stop - 1 of each partition."""
        closing = np.flatnonzero(first < stop)
        if not len(closing) or not self.state.panes.segments:
            return None
        wanted = partitions[closing].with_columns(
            pl.Series("__first", first[closing]), pl.Series("__stop", stop[closing])
        )
        panes = pl.concat(self.state.panes)
        rows = panes.join(wanted, on=self._partition, how="inner", nulls_equal=True)
        begin, end = self._windows_of(rows.get_column(_PANE).to_numpy())
        begin = np.maximum(begin, rows.get_column("__first").to_numpy())
        end = np.minimum(end, rows.get_column("__stop").to_numpy())
        windows = self.aggregates.windows(rows.to_dict(), begin, end)
        if windows is None:
            return None
        partials, wids = windows
        ends = (wids + 1) * self._window.slide
        return present(self.aggregates.answers(partials), ends - self._window.range, ends)

    def _finish(self) -> pl.DataFrame | None:
        """The windows that the end leaves incomplete: those with a row in their last step."""
        if not self.state.counts.segments:
            return None
        known = self._latest_counts(list(self.state.counts))
        counts = known.get_column(_COUNT).to_numpy()
        first, stop = counts // self._window.slide, -(-counts // self._window.slide)
        found = self._results(known.select(self._partition), first, stop)
        self.state.counts.clear()
        self.state.panes.clear()
        return found
