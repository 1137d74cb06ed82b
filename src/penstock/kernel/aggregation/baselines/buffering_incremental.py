"""BufferingIncremental: from one window to the next, rows that come are added, others taken away.

Rows are kept as in `buffering`, but a window is not computed from all its rows: the groups of the
window before are known, and change by the rows that enter and those that leave. So a row is looked
at twice, however many windows it is in. For functions that can be taken away again, exactly: counts
and sums of integers.  Spec: window-queries 3.5, 3.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import take
from penstock.kernel.aggregation.baselines.buffering import Buffering, BufferingState
from penstock.kernel.aggregation.driver import Results
from penstock.kernel.aggregation.panes.differences import differences
from penstock.kernel.aggregation.panes.pane_grid import keep_counts
from penstock.kernel.aggregation.panes.ranges import Ranges
from penstock.kernel.aggregation.wid.bucket import WID_END, WID_START
from penstock.kernel.segments import SegmentTable, table
from penstock.windows.sliding import Sliding


@dataclass
class IncrementalState(BufferingState):
    """Also the groups of the rows that have entered and are in the buffer."""

    running: SegmentTable = table()


class BufferingIncremental(Buffering):
    """The same for counts and sums."""

    state: IncrementalState
    state_class = IncrementalState

    def __init__(
        self, groups: Sequence[str], results: Results, window: Sliding, *, consistent: bool = False
    ) -> None:
        super().__init__(groups, results, window, consistent=consistent)
        keep_counts(self.aggregates)

    def _below(self, bound: int, rows: pl.DataFrame) -> Ranges | None:
        state = self.state
        start, stop = rows.get_column(WID_START).to_numpy(), rows.get_column(WID_END).to_numpy()
        kept = self._ranges(rows, start, stop, end_tells=False)
        # What enters is what no window that is closed has seen, be it late or not.
        entering = np.flatnonzero((kept.start >= state.closed) & (kept.start < bound))
        leaving = np.flatnonzero(kept.stop <= bound)
        changes = (
            (take(kept.columns, entering), kept.start[entering], 1),
            (take(kept.columns, leaving), kept.stop[leaving], -1),
        )
        return differences(self.aggregates, state.running, state.closed, bound, changes)
