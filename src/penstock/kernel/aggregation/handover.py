"""Handover: one way to compute a window takes over from another, at the end of a window.

Both compute the same windows of the same rows, but the second has seen no row from before it was
built. So results of windows that end by `until` are the first's, and later ones, to which no row
had come by then, are the second's. The second's wait until the first has put out its last, so that
results come in the order of their windows. What each computes besides is dropped. Once both are
past `until`, the first can be removed, and this operator with it. Switching between algorithms at
the end of a window is ours; the specification migrates joins (dynamic-optimization 3).
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from penstock.kernel.aggregation.behind_windows import BehindWindows
from penstock.kernel.aggregation.driver import put_out
from penstock.kernel.block import Block
from penstock.kernel.operator import Output
from penstock.kernel.progress.release import Need, Times, Waiting
from penstock.model.schema import WINDOW_END
from penstock.windows.sliding import Sliding

FIRST, SECOND = 0, 1


class Handover(BehindWindows):
    """Results up to `until` from the first input, later ones from the second.

    Those of the second wait until the first has put out its last.
    """

    def __init__(self, window: Sliding, until: int) -> None:
        super().__init__((WINDOW_END, WINDOW_END), window.range)
        self._until = until

    @property
    def is_over(self) -> bool:
        """Whether the first has put out its last."""
        return self.state.bounds[FIRST] > self._until

    @property
    def can_go(self) -> bool:
        """Whether all that is still to come is the second's, which may lag behind the first."""
        return self.is_over and self.state.bounds[SECOND] > self._until

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        before = pl.col(WINDOW_END) <= self._until
        rows = block.rows.filter(before if port == FIRST else ~before)
        if port == SECOND and not self.is_over:
            self.state.waiting.append(rows)
        else:
            put_out(rows, out)

    def _release(self, out: Output) -> int:
        state = self.state
        if not self.is_over:
            return state.bounds[FIRST]
        for rows in state.waiting:
            put_out(rows, out)
        state.waiting.clear()
        return max(state.bounds[SECOND], self._until + 1)

    # -- what it waits for --------------------------------------------------------------------

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        end = times[WINDOW_END]
        if end is None or (port == FIRST) != (end <= self._until):
            return ()
        return (Waiting((), times),) if port == FIRST or self.is_over else self._waiting(end)

    def _lets_out(self, end: int) -> tuple[Need, ...]:
        return (Need(FIRST, WINDOW_END, self._until + 1),)

    def _passes_on(self, end: int) -> tuple[Need, ...]:
        if end <= self._until + 1:
            return (Need(FIRST, WINDOW_END, end),)
        return (*self._lets_out(end), Need(SECOND, WINDOW_END, end))
