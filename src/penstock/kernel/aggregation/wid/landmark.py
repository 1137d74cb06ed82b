"""LandmarkAggregate: WID for windows that all begin with the stream.

A row's range of wids has no end. Cut at a bound, what lies behind it goes on as the total so far;
rows of later steps add to it from their own step on. So there is one entry per group and step that
is still open, and one for everything before.

Only steps in which rows have come are windows: others would repeat those before them, perhaps for
years. So the steps with rows that are open are kept beside the entries, each once.  Spec:
window-queries 2.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Ids
from penstock.kernel.aggregation.open_windows import too_many
from penstock.kernel.aggregation.panes.ranges import Ranges
from penstock.kernel.aggregation.wid.bucket import WID_END, WID_START
from penstock.kernel.aggregation.wid.overlay import repeat_ranges
from penstock.kernel.aggregation.wid.wid import WidAggregate, WidState
from penstock.kernel.block import Block
from penstock.kernel.operator import Output
from penstock.kernel.progress.release import Times, Waiting
from penstock.kernel.segments import SegmentTable, table
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING, END
from penstock.windows import MOST_OPEN


@dataclass
class LandmarkState(WidState):
    """The open steps in which rows have come."""

    steps: SegmentTable = table(WID_START)


class LandmarkAggregate(WidAggregate):
    """Reports everything so far, at every step in which rows have come."""

    state: LandmarkState
    state_class = LandmarkState

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        new = block.rows.get_column(WID_START).unique().sort()
        new = new.filter(new >= self.state.closed)
        if len(new):
            self.state.steps.append(new.to_frame(), _merged)
        super().on_batch(port, block, out)

    def _check_open(self, folded: pl.DataFrame) -> None:
        """Only steps in which rows have come are windows."""
        steps = self.state.steps
        if steps.rows > MOST_OPEN and len(self._steps()) > MOST_OPEN:
            raise too_many(self.window, len(self._steps()))

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        super().on_punctuation(port, punctuation, out)
        self.state.steps.take_below(self.state.closed)

    def on_pattern(self, port: int, punctuation: Punctuation, out: Output) -> None:
        """Of some groups, too, only steps that are known to be windows can be over."""
        bound = min(punctuation.bound, self._first_unknown())
        if bound > BEGINNING:
            super().on_pattern(port, replace(punctuation, bound=bound), out)

    def first_open(self) -> int | None:
        """The first step that will have results."""
        return self.state.steps.lowest()

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        return super().passes(port, {**times, WID_END: END})

    def _windows(self, ranges: Ranges) -> tuple[Ids | None, Ids]:
        steps = self._steps()
        first, stop = np.searchsorted(steps, ranges.start), np.searchsorted(steps, ranges.stop)
        source = np.repeat(np.arange(len(ranges)), stop - first)
        return source, steps[repeat_ranges(first, stop - first)]

    def _steps(self) -> Ids:
        """The open steps in which rows have come, in order."""
        if not self.state.steps.segments:
            return np.empty(0, dtype=np.int64)
        return np.unique(pl.concat(self.state.steps).get_column(WID_START).to_numpy())

    def _first_unknown(self) -> int:
        """Before this all steps in which a group may have results are known to have them."""
        starts = min(self._starts(), default=None)
        if starts is None:
            return BEGINNING
        steps = self._steps()
        begin = max(starts, self.state.closed)
        behind = steps[np.searchsorted(steps, begin) :]
        # They follow each other without a gap up to there.
        return begin + int((behind == begin + np.arange(len(behind))).sum())


def _merged(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts).unique().sort(WID_START)
