"""AdaptPaneStore: a pane that still gets rows keeps a group as partials or as its rows.

The pane-level query is a tumbling window, where AdaptWID is at its best: a group has one partial
per pane, and is in transition for no longer than a pane. Panes that are complete are partials, as
in any store, and windows are put together from them; that is a lazy window-level query, with as
many items per window and group as there are panes. The inputs of a union are not told apart here,
since queries share a store.  Spec: window-queries 5.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from penstock.kernel.aggregates.grouping import Ids
from penstock.kernel.aggregation.adapt.adapt_wid import AdaptState, AdaptWid
from penstock.kernel.aggregation.panes.pane_grid import PANE
from penstock.kernel.aggregation.panes.pane_store import PaneState, PaneStore, segment_of
from penstock.kernel.aggregation.wid.bucket import WID_END, WID_START
from penstock.model.aggregates import Aggregate
from penstock.windows.panes import Panes


@dataclass
class AdaptPaneState(AdaptState, PaneState):
    """Panes that are complete; of the others, partials and rows. Nothing is `filling`."""


class AdaptPaneStore(PaneStore):
    """Aggregates rows in panes when that takes less memory, and else when the pane is complete."""

    state: AdaptPaneState

    def __init__(
        self, groups: Sequence[str], aggregates: Iterable[Aggregate], panes: Panes
    ) -> None:
        super().__init__(groups, aggregates, panes)
        self.state = AdaptPaneState(duration=float(panes.length))
        self._filling = AdaptWid(groups, (), self._window)
        self._filling.aggregates.keep(*self.aggregates.parts)
        self._filling.state = self.state  # saved and restored as one

    def _fill(self, rows: pl.DataFrame, numbers: Ids) -> None:
        tags = (pl.Series(WID_START, numbers), pl.Series(WID_END, numbers + 1))
        self._filling.add(rows.with_columns(tags))

    def _complete(self, bound: int) -> None:
        ranges = self._filling.complete(bound)
        if ranges is not None:
            aggregates = self.aggregates
            columns = aggregates.keys(ranges.columns) | aggregates.kept(ranges.columns)
            self.state.panes.append(segment_of(columns, ranges.start), pl.concat)

    def _first_filling(self) -> int | None:
        return self._filling.first_open()

    def _filling_of(self, meant: pl.Expr) -> Iterable[pl.DataFrame]:
        self._filling.fold(meant)
        names = (*self.aggregates.groups, *self.aggregates.partials, PANE)
        return [rows.rename({WID_START: PANE}).select(names) for rows in self.state.partials]
