"""SGB: a group's result of a window, put together of what two plans say of it.

While an aggregate above joins gives way to one above joins of aggregates by Parallel Track as it
was published, both run: the old plan has the rows from before a moment, the new one those from then
on. A window that has rows of both gets a result from either, and a function makes one of them:
counts and sums are added, of least and greatest values the least or greatest is taken. So results
wait until both inputs have come so far. When no window with rows of the old plan is to come, that
can go, and this operator with it.

Published, rows are told apart by marks, and pairs of new ones suppressed at the root of the old
plan; here joins are of rows in the same window, and the moment is where one of these begins, so
times tell (`optimizer/regroup.py`).  Spec: dynamic-optimization 1.6, 3.6.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.aggregation.align_windows import AlignWindows
from penstock.kernel.aggregation.driver import Results, present
from penstock.model.schema import WINDOW_END
from penstock.windows.sliding import Sliding


class SGB(AlignWindows):
    """`results` are those of the query, each with the function that makes one of two.

    Windows that end by `until` may have rows of the first input.
    """

    def __init__(
        self, window: Sliding, until: int, groups: Sequence[str], results: Results
    ) -> None:
        super().__init__(groups, (results,) * 2, [name for name, _ in results], window)
        self._of_parts = AggregateSet(groups, results)
        self._until = until

    @property
    def can_go(self) -> bool:
        """Whether all windows that are still to come are the second's alone, and none waits."""
        return min(self.state.bounds) > self._until and not self.state.waiting.rows

    def _joined(self, rows: pl.DataFrame) -> pl.DataFrame:
        ends = rows.get_column(WINDOW_END).to_numpy()
        started, ends = self._of_parts.started_by(self._of_parts.prepare(rows), ends)
        found = present(self._of_parts.answers(started), ends - self._range, ends)
        return found.select(self._columns)
