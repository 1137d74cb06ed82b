"""PaneStore: the pane-level query, and the one place that keeps panes.

Rows are aggregated in panes, as in a tumbling window; a bound completes panes, which then stand
in segments in order. Whoever computes windows reads them here (`paned_wid`): all windows of all
queries that aggregate the same rows in the same groups share one store, and a window that is added
later finds the panes that are there. A pane is forgotten when no reader needs it any more.
Spec: window-queries 4.1; sharing across queries is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Ids, frame
from penstock.kernel.aggregates.keys import Groups, code_integers
from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.aggregation.open_windows import OpenWindows
from penstock.kernel.aggregation.panes.pane_grid import PANE, keep_counts
from penstock.kernel.aggregation.panes.shared_windows import SharedWindows
from penstock.kernel.aggregation.preaggregating import Preaggregating, Selections
from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Output
from penstock.kernel.progress.grain import UNUSED, Grain, Grid, grain_of
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.segments import SegmentTable, table
from penstock.kernel.state import State
from penstock.model.aggregates import Aggregate
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING, END
from penstock.windows.panes import Panes
from penstock.windows.sliding import Sliding

if TYPE_CHECKING:
    from penstock.kernel.aggregation.panes.paned_wid import PanedWid


@dataclass
class PaneState(State):
    """Panes that are complete, in order, and those that still get rows."""

    panes: SegmentTable = table(PANE)
    filling: SegmentTable = table(PANE)
    complete: int = BEGINNING  # panes below are
    late: int = 0
    unplaced: int = 0
    rows_in: int = 0  # that came in time, in so many blocks
    blocks_in: int = 0


class PaneStore(Preaggregating):
    """Aggregates rows in panes; passes on no rows, only bounds below which panes are complete."""

    state: PaneState

    def __init__(
        self, groups: Sequence[str], aggregates: Iterable[Aggregate], panes: Panes
    ) -> None:
        super().__init__()
        self.state = PaneState()
        self.panes = panes
        self._window = Sliding(panes.on, panes.length, panes.length, panes.origin, "number")
        self.readers: WeakKeyDictionary[PanedWid, None] = WeakKeyDictionary()  # as they came
        self.aggregates = aggregates_of(groups, aggregates)
        self.windows = SharedWindows(self)
        self._open_windows: OpenWindows | None = None

    def add_reader(self, reader: PanedWid) -> None:
        """Keep the panes that somebody needs who computes windows of them."""
        self.readers[reader] = None
        self.windows.added()

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        """Panes may be shorter than any slide: then only those at which windows close matter."""
        if on != self.panes.on:
            return UNUSED
        grain, length = behind(PANE), self.panes.length
        if grain is None:
            return grain_of((length, self.panes.origin))
        return frozenset(
            Grid(grid.step * length, self.panes.origin + grid.origin * length) for grid in grain
        )

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        rows = block.rows.drop_nulls(self.panes.on)
        self.state.unplaced += len(block) - rows.height
        numbers = self._numbers(rows)
        if len(numbers) and numbers.min() < self.state.complete:
            in_time = numbers >= self.state.complete
            self.state.late += int((~in_time).sum())
            rows, numbers = rows.filter(pl.Series(in_time)), numbers[in_time]
        if not rows.height:
            return
        self.state.rows_in += rows.height
        self.state.blocks_in += 1
        self._fill(self.aggregates.prepare(rows), numbers)

    def _fill(self, rows: pl.DataFrame, numbers: Ids) -> None:
        """Add prepared rows to their panes, by the panes' numbers."""
        self.absorb(segment_of(*self.aggregates.started_by(rows, numbers, leading=True)))

    def preaggregated(self, rows: pl.DataFrame) -> pl.DataFrame:
        """What is kept of rows that have a time; it depends on no state, so anybody can make it."""
        prepared = self.aggregates.prepare(rows)
        return segment_of(*self.aggregates.started_by(prepared, self._numbers(rows), leading=True))

    def selections(self, rows: pl.DataFrame, cells: Groups | None = None) -> Selections:
        prepared = self.aggregates.prepare(rows)
        numbers = self._numbers(rows)
        if cells is None:
            cells = self.aggregates.cells(prepared.to_dict(), code_integers(numbers), leading=True)
        with_panes = prepared.with_columns(pl.Series(PANE, numbers))
        return Selections(self.aggregates, with_panes, cells, (PANE,))

    def settled(self, started: pl.DataFrame) -> pl.DataFrame:
        columns = started.to_dict()
        return segment_of(columns, columns.pop(PANE).to_numpy())

    def absorb(self, folded: pl.DataFrame) -> None:
        """Add what is kept of rows, none of which is in a pane that is complete."""
        self._check_open(folded)
        self.state.filling.append(folded, self.merged)

    def _check_open(self, folded: pl.DataFrame) -> None:
        """Refuse rows that open too many windows of whoever has the most for a row."""
        longest = max(self.readers, key=lambda each: each.window.most_of_row, default=None)
        if longest is None:
            return
        if self._open_windows is None or self._open_windows.window is not longest.window:
            self._open_windows = OpenWindows(longest.window)
        kept = (*self.state.panes, *self.state.filling)

        def windows_of(rows: Iterable[pl.DataFrame]) -> tuple[Ids, Ids]:
            panes = [each.get_column(PANE).to_numpy() for each in rows]
            times = np.concatenate([np.empty(0, dtype=np.int64), *panes]) * self.panes.length
            return longest.window.wid_range(times + self.panes.origin)

        self._open_windows.add(*windows_of([folded]), lambda: windows_of(kept))

    def _numbers(self, rows: pl.DataFrame) -> Ids:
        """The panes that rows are in."""
        values = rows.get_column(self.panes.on).cast(pl.Int64).to_numpy()
        numbers: Ids = self._window.wid_range(values)[0]
        return numbers

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        bound = self._complete_below(punctuation)
        if bound <= self.state.complete:
            return
        self.state.complete = bound
        self._complete(bound)
        self.purge()
        out.punctuation(Punctuation(PANE, bound))

    def on_pattern(self, port: int, punctuation: Punctuation, out: Output) -> None:
        """Panes of some groups are complete: readers can answer these before the others."""
        bound = self._complete_below(punctuation)
        of_groups = {name for name, _ in punctuation.where} <= set(self.aggregates.groups)
        if of_groups and bound > self.state.complete:
            out.punctuation(Punctuation(PANE, bound, punctuation.where))

    def _complete_below(self, punctuation: Punctuation) -> int:
        """The first pane that may still get rows."""
        if punctuation.on != self.panes.on or punctuation.bound <= BEGINNING:
            return BEGINNING
        return END if punctuation.is_final else self._window.closed_below(punctuation.bound)

    def _complete(self, bound: int) -> None:
        """Move the panes below the bound to those that are complete."""
        taken = self.state.filling.take_below(bound)
        if taken:
            # Later bounds complete later panes, so segments stand in order, too.
            self.state.panes.append(self.merged(taken), pl.concat)

    def purge(self) -> None:
        """Forget the panes that no reader needs."""
        self.state.panes.take_below(self._needed)

    @property
    def _needed(self) -> int:
        """The first pane that some reader needs."""
        return min((reader.needs for reader in self.readers), default=self.state.complete)

    def reopen(self) -> None:
        """Panes of windows that are still to come get rows again."""
        for reader in self.readers:
            reader.begin_anew()
        state, needed = self.state, self._needed
        if needed >= state.complete:
            return
        kept = self.since(needed)
        state.panes.clear()
        state.complete = needed
        if kept is not None:
            state.filling.append(kept, self.merged)
        self.windows.added()

    def last_pane(self) -> int | None:
        """The last pane that has rows, of those that are kept; None: none has."""
        extents = (self.state.panes.extent(), self.state.filling.extent())
        return max((found[1] for found in extents if found is not None), default=None)

    def first(self) -> int:
        """The first pane that is kept."""
        first = self.state.panes.lowest()
        return self.state.complete if first is None else first

    def since(self, first: int) -> pl.DataFrame | None:
        """The groups of panes from the first on, in the order of panes; None: there are none."""
        found = []
        for rows in self.state.panes:
            below = int(np.searchsorted(rows.get_column(PANE).to_numpy(), first))
            if below < rows.height:
                found.append(rows.slice(below))
        return pl.concat(found) if found else None

    def of_groups(self, first: int, stop: int, meant: pl.Expr) -> pl.DataFrame | None:
        """Panes first … stop - 1 of some groups, complete or not; None: there are none."""
        asked = meant & (pl.col(PANE) >= first) & (pl.col(PANE) < stop)
        kept = (*self.state.panes, *self._filling_of(meant))
        found = [some for rows in kept if (some := rows.filter(asked)).height]
        return pl.concat(found) if found else None

    def _filling_of(self, meant: pl.Expr) -> Iterable[pl.DataFrame]:
        """Panes that still get rows, at least those of some groups."""
        return self.state.filling

    # -- what it waits for: nothing; its readers do -------------------------------------------

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        return ()

    def first_pane(self, first: int) -> int | None:
        """The first pane with rows, complete or not, from this one on."""
        complete = self.since(first)
        if complete is not None:
            return int(complete.get_column(PANE)[0])
        return self._first_filling()

    def _first_filling(self) -> int | None:
        return self.state.filling.lowest()

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        value = times[self.panes.on]
        if value is None:
            return ()
        pane, _ = self._window.wid_range(value)
        return (Waiting((), {PANE: pane}),) if pane >= self.state.complete else ()

    def needed(self, on: str, bound: int) -> Needs | None:
        if on != PANE:
            return None
        return Needs((Need(0, self.panes.on, self._window.closes_at(bound)),))

    def merged(self, segments: Sequence[pl.DataFrame]) -> pl.DataFrame:
        if len(segments) == 1:
            return segments[0]
        columns = pl.concat(segments).to_dict()
        panes = columns[PANE].to_numpy()
        return segment_of(*self.aggregates.merged_by(columns, panes, leading=True))


def aggregates_of(groups: Sequence[str], aggregates: Iterable[Aggregate]) -> AggregateSet:
    """What panes keep: the parts of all aggregates, and what taking them away again needs."""
    results = [(f"__{number}", aggregate) for number, aggregate in enumerate(aggregates)]
    found = AggregateSet(groups, results)
    keep_counts(found)
    return found


def segment_of(columns: dict[str, pl.Series], panes: Ids) -> pl.DataFrame:
    """As a table, sorted by pane."""
    rows = frame({**columns, PANE: pl.Series(panes)})
    in_order = bool((panes[1:] >= panes[:-1]).all())
    return rows if in_order else rows.sort(PANE, maintain_order=True)
