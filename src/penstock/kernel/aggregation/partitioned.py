"""PartitionedAggregate: the last rows of each partition, aggregated in panes.

A row's place is its rank in its partition, so each partition has a clock of its own: the number of
its rows so far. Ranks are final once a promise on the row number says that nothing comes in
between; until then rows wait. Partials are kept per group and *pane*, as many rows as both RANGE
and SLIDE are multiples of. When a partition's clock passes the end of a window, the window is put
together from its panes, and panes that no later window needs are forgotten when segments merge.
Partitions end their windows one by one, so nothing can be promised about the results of all.
Spec: window-queries 2.4, 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates import Ids, take
from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.aggregation.keys import code_column, code_integers, combine, group_rows
from penstock.kernel.aggregation.wid.overlay import repeat_ranges
from penstock.kernel.aggregation.wid.wid import present
from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.segments import Table, table
from penstock.kernel.state import State
from penstock.model.aggregates import Aggregate
from penstock.model.punctuation import Punctuation
from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.model.timestamps import BEGINNING, END
from penstock.windows.partitioned import Partitioned

_PANE, _COUNT = "__pane", "__count"


@dataclass
class PartitionedState(State):
    """Rows without a rank yet, how many rows each partition had, and panes."""

    waiting: Table = table()
    counts: Table = table()
    panes: Table = table()
    ranked: int = BEGINNING  # rows below have their rank
    late: int = 0
    unplaced: int = 0


class PartitionedAggregate(Operator):
    """Aggregates RANGE rows of each partition at every SLIDE of its rows."""

    state: PartitionedState

    def __init__(
        self, groups: Sequence[str], results: Sequence[tuple[str, Aggregate]], window: Partitioned
    ) -> None:
        super().__init__()
        self.state = PartitionedState()
        self._window = window
        self._partition = list(window.partition)
        self._calculation = AggregateSet(groups, results)
        self._pane = math.gcd(window.range, window.slide)

    def useful(self, wanted: frozenset[str] | None) -> frozenset[str]:
        return frozenset([self._window.on])

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        on = self._window.on
        rows = block.rows.drop_nulls(on)
        self.state.unplaced += len(block) - rows.height
        in_time = rows.filter(pl.col(on) >= self.state.ranked)
        self.state.late += rows.height - in_time.height
        self.state.waiting.append(in_time)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        bound, on = punctuation.bound, self._window.on
        if punctuation.on != on or bound <= self.state.ranked:
            return
        self.state.ranked = bound
        waiting = list(self.state.waiting)
        if waiting:
            rows = pl.concat(waiting)
            self.state.waiting.replace(rows.filter(pl.col(on) >= bound))
            ready = rows.filter(pl.col(on) < bound).sort(on, maintain_order=True)
            if ready.height:
                self._take_in(self._calculation.prepare(ready), out)
        if punctuation.is_final:
            self._finish(out)

    # -- what it waits for --------------------------------------------------------------------

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        """Which rows come next in which partition is not known; the end comes for all of them."""
        on = self._window.on
        if self.state.waiting.rows:
            first = min(rows.get_column(on).min() for rows in self.state.waiting if rows.height)  # type: ignore[type-var]
            yield Waiting((Need(0, on, int(first) + 1),), {}, certain=False)  # type: ignore[arg-type]
        elif self.state.counts.rows:
            yield Waiting((Need(0, on, END),), {}, certain=False)

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        value = times[self._window.on]
        if value is not None:
            yield Waiting((Need(0, self._window.on, value + 1),), {}, certain=False)

    def needed(self, on: str, bound: int) -> Needs | None:
        return Needs((Need(0, self._window.on, END),))

    def known(self, port: int, on: str) -> int:
        return self.state.ranked if on == self._window.on else BEGINNING

    # -- rows ---------------------------------------------------------------------------------

    def _take_in(self, rows: pl.DataFrame, out: Output) -> None:
        """Rank rows, add them to their panes, and put out the windows that they complete."""
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
        self._put_out(named, before // slide, after // slide, out)

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
        keys = {name: rows.get_column(name) for name in self._calculation.groups}
        digits = (*map(code_column, keys.values()), code_integers(panes))
        cells = combine(digits, rows.height).groups()
        columns = take(keys, cells.members) | self._calculation.start(rows, cells)
        columns[_PANE] = pl.Series(panes[cells.members])
        segment = pl.DataFrame([column.alias(name) for name, column in columns.items()])
        self.state.panes.append(segment, self._level)

    def _level(self, segments: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """One segment of several, without panes whose windows are over."""
        rows = pl.concat(segments)
        closed = self._counted(rows.select(self._partition)) // self._window.slide
        _, stop = self._windows_of(rows.get_column(_PANE).to_numpy())
        rows = rows.filter(stop > closed)
        columns = {name: rows.get_column(name) for name in rows.columns}
        keys = self._calculation.keys(columns)
        panes = columns[_PANE].to_numpy()
        digits = (*map(code_column, keys.values()), code_integers(panes))
        cells = combine(digits, rows.height).groups()
        merged = take(keys, cells.members)
        merged |= self._calculation.merge(self._calculation.kept(columns), cells)
        merged[_PANE] = pl.Series(panes[cells.members])
        return pl.DataFrame([column.alias(name) for name, column in merged.items()])

    def _windows_of(self, panes: Ids) -> tuple[Ids, Ids]:
        """The first window of each pane, and the first behind it that does not hold it."""
        ranks = panes * self._pane
        return ranks // self._window.slide, (ranks + self._window.range) // self._window.slide

    # -- results ------------------------------------------------------------------------------

    def _put_out(self, partitions: pl.DataFrame, first: Ids, stop: Ids, out: Output) -> None:
        """The windows first … stop - 1 of each partition."""
        closing = np.flatnonzero(first < stop)
        if not len(closing) or not self.state.panes.segments:
            return
        wanted = partitions[closing].with_columns(
            pl.Series("__first", first[closing]), pl.Series("__stop", stop[closing])
        )
        found = [
            rows.join(wanted, on=self._partition, how="inner", nulls_equal=True)
            for rows in self.state.panes
        ]
        rows = pl.concat(found)
        begin, end = self._windows_of(rows.get_column(_PANE).to_numpy())
        begin = np.maximum(begin, rows.get_column("__first").to_numpy())
        lengths = np.maximum(np.minimum(end, rows.get_column("__stop").to_numpy()) - begin, 0)
        if not lengths.any():
            return
        source, wids = np.repeat(np.arange(rows.height), lengths), repeat_ranges(begin, lengths)
        columns = take({name: rows.get_column(name) for name in rows.columns}, source)
        keys = self._calculation.keys(columns)
        digits = (*map(code_column, keys.values()), code_integers(wids))
        cells = combine(digits, len(wids)).groups()
        partials = self._calculation.merge(self._calculation.kept(columns), cells)
        answers = take(keys, cells.members) | self._calculation.results(partials)
        ends = (wids[cells.members] + 1) * self._window.slide
        out.batch(Block(present(answers, ends - self._window.range, ends)))

    def _finish(self, out: Output) -> None:
        """The windows that the end leaves incomplete: those with a row in their last step."""
        if self.state.counts.segments:
            known = self._latest_counts(list(self.state.counts))
            counts = known.get_column(_COUNT).to_numpy()
            first, stop = counts // self._window.slide, -(-counts // self._window.slide)
            self._put_out(known.select(self._partition), first, stop, out)
        self.state.counts.clear()
        self.state.panes.clear()
        out.punctuation(Punctuation(WINDOW_END, END))
        out.punctuation(Punctuation(WINDOW_START, END))
