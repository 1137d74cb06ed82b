"""Adaptive: Sync-Filter while it is cheap, Filter-Order when it pays.

Filter-Order gains where joining takes a notable share of the time: by x / (1 + x) of the response
time, with x = c w l1 l2, for a cost of c per pair, a window w, and rates l1 < l2. Joining a row
costs C = c w l1 in that analysis, whichever stream it is of, so x = C l2: what is measured here is
the cost of joining a row, and how many rows of each stream come in how much of its own time. A pass
over alpha switches; the gain is then at least alpha / (1 + alpha), and below it at most that much
is let go.

Switching back drains first: rows are joined in Sync-Filter's order, still through the hold buffer,
until it is empty. Results stay in order, none lost and none doubled.  Spec: ordered-joins 4, 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.joins.ordered_join import OrderedJoin, OrderedJoinState
from penstock.kernel.joins.spec import JoinSpec
from penstock.kernel.operator import Output
from penstock.model.timestamps import BEGINNING

#: How much of an estimate survives when as much again has been seen.
FADING = 0.5
#: Rows between two looks at the estimates.
PERIOD = 64


@dataclass
class AdaptiveOrderState(OrderedJoinState):
    """Which of the two it is, and what was measured since the last look."""

    orders_output: bool = False
    rows: list[int] = field(default_factory=lambda: [0, 0])  # of each side, fading
    spans: list[int] = field(default_factory=lambda: [0, 0])  # of stream time, fading
    spent: float = 0.0  # ticks of work, fading
    joined: float = 0.0  # rows that the work was for, fading
    since: int = 0  # rows since the last look
    switches: int = 0


class AdaptiveOrder(OrderedJoin):
    """Switches between waiting rows and waiting results.

    `stopwatch` gives a time in ticks; the kernel has no clock of its own.
    """

    state: AdaptiveOrderState
    state_type = AdaptiveOrderState

    def __init__(self, spec: JoinSpec, alpha: float, stopwatch: Callable[[], float]) -> None:
        super().__init__(spec)
        self._alpha = alpha
        self._stopwatch = stopwatch

    @property
    def load(self) -> float:
        """The estimate of c w l1 l2: the cost of joining a row, times the faster rate."""
        state = self.state
        rates = [rows / span for rows, span in zip(state.rows, state.spans, strict=True) if span]
        if len(rates) < 2 or not state.joined:
            return 0.0
        return state.spent / state.joined * max(rates)

    # -- rows ---------------------------------------------------------------------------------

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        self._see(port, block)
        super().on_batch(port, block, out)

    def _see(self, port: int, block: Block) -> None:
        state, on = self.state, self._spec.sides[port].on
        before = state.reached[port]
        first = block.first(on) if before == BEGINNING else before
        state.rows[port] += len(block)
        state.spans[port] += max(0, block.last(on) - first)
        state.since += len(block)
        if state.since >= PERIOD:
            self._look()

    def _look(self) -> None:
        state = self.state
        wanted = self.load >= self._alpha
        if wanted != state.orders_output:
            state.orders_output = wanted
            state.switches += 1
        state.rows = [int(rows * FADING) for rows in state.rows]
        state.spans = [int(span * FADING) for span in state.spans]
        state.spent *= FADING
        state.joined *= FADING
        state.since = 0

    def _join(self, port: int, rows: pl.DataFrame) -> pl.DataFrame | None:
        begun = self._stopwatch()
        found = super()._join(port, rows)
        self.state.spent += self._stopwatch() - begun
        self.state.joined += rows.height
        return found

    def _take(self, port: int, block: Block) -> None:
        self.state.queue(port).append_sorted(block.rows)

    def _let_out(self, out: Output) -> None:
        state = self.state
        # Everything that waits is joined at once where results wait instead.
        up_to = max(state.reached) if state.orders_output else state.trigger
        # In Sync-Filter's order a held buffer is empty once drained: results pass through it.
        self._hold(self._join_waiting(up_to))
        self._release(state.trigger, out)
        self._promise(out)
