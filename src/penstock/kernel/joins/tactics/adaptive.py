"""Adaptive: Sync-Filter while it is cheap, Filter-Order when it pays.

Filter-Order gains where joining takes a notable share of the time: by x / (1 + x) of the response
time, with x = c w l1 l2, for a cost of c per pair, a window w, and rates l1 < l2. Joining a row
costs C = c w l1 in that analysis, whichever stream it is of, so x = C l2: what is measured here is
the time that joining a row takes, and how many rows of each stream come in how much time. Both are
read off clocks, so x is a share of the time and has no unit, whatever the streams' timestamps
count. A pass over alpha switches; the gain is then at least alpha / (1 + alpha), and below it at
most that much is lost.

Switching back drains first: rows are joined in Sync-Filter's order, still through the hold buffer,
until it is empty. Results stay in order, none lost and none doubled.  Spec: ordered-joins 4, 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import polars as pl

from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.tactics.in_order import InOrder

#: How much of an estimate survives when as much again has been seen.
FADING = 0.5
#: Rows between two looks at the estimates.
PERIOD = 64


class Adaptive(InOrder):
    """Switches between waiting rows and waiting results.

    The kernel has no clock of its own: `worked` reads the time that work has taken, `passed` the
    time that has gone by, in one unit.
    """

    name = "AdaptiveOrder"

    def __init__(
        self, alpha: float, worked: Callable[[], float], passed: Callable[[], float] | None = None
    ) -> None:
        self.alpha = alpha
        self._worked = worked
        self._passed = passed or worked
        self._looked: float | None = None  # what `passed` said when the last block came

    def take(self, inputs: Inputs, port: int, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
        self._see(inputs, port, rows.height)
        self.wait(inputs, port, rows)
        return ()

    def release(self, inputs: Inputs) -> Iterable[pl.DataFrame]:
        state = inputs.state
        # Everything that waits is joined at once where results wait instead.
        up_to = max(state.reached) if self.orders_output(inputs) else state.trigger
        # In Sync-Filter's order a held buffer is empty once drained: results pass through it.
        self.hold(inputs, self.join_waiting(inputs, up_to))
        return self.let_out(inputs)

    def meet(self, inputs: Inputs, port: int, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
        begun = self._worked()
        found = list(super().meet(inputs, port, rows))
        measured = _measured(inputs)
        measured["spent"] += self._worked() - begun
        measured["joined"] += rows.height
        return found

    # -- what is measured ---------------------------------------------------------------------

    def orders_output(self, inputs: Inputs) -> bool:
        """Whether it is Filter-Order now."""
        return bool(_measured(inputs)["orders_output"])

    def load(self, inputs: Inputs) -> float:
        """The estimate of c w l1 l2: the time for joining a row, times the faster rate."""
        measured = _measured(inputs)
        if not measured["joined"] or not measured["passed"]:
            return 0.0
        rate = max(measured["rows"]) / measured["passed"]
        return float(measured["spent"] / measured["joined"] * rate)

    def _see(self, inputs: Inputs, port: int, count: int) -> None:
        measured, now = _measured(inputs), self._passed()
        # A block's rows have come in the time since the block before; how long that was for the
        # first one, nobody knows.
        if self._looked is not None:
            measured["passed"] += now - self._looked
            measured["rows"][port] += count
        self._looked = now
        measured["since"] += count
        if measured["since"] >= PERIOD:
            self._look(inputs)

    def _look(self, inputs: Inputs) -> None:
        measured = _measured(inputs)
        wanted = self.load(inputs) >= self.alpha
        if wanted != measured["orders_output"]:
            measured["orders_output"] = wanted
            measured["switches"] += 1
        for name in ("spent", "joined", "passed"):
            measured[name] *= FADING
        measured["rows"] = [rows * FADING for rows in measured["rows"]]
        measured["since"] = 0


def _measured(inputs: Inputs) -> dict[str, Any]:
    """What was measured, fading; it stands in the join's state."""
    if not inputs.state.noted:
        inputs.state.noted = {
            "orders_output": False,
            "rows": [0.0] * inputs.ports,  # of each input
            "passed": 0.0,  # the time in which they came
            "spent": 0.0,  # the time that joining took
            "joined": 0.0,  # rows that it was for
            "since": 0,  # rows since the last look
            "switches": 0,
        }
    return inputs.state.noted
