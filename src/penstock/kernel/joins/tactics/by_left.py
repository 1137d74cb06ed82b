"""What tactics share whose results come in the order of the left timestamp.

A result leaves when no earlier one can come: when the left input is past its left row, and the
right one past all partners of that. So what is still to come has a left timestamp behind `whole`,
and its right one lies within the band of that.  Spec: window-queries 6.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from penstock.kernel.buffer import Cursor
from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.progress.release import Times, Waiting


class ByLeft(Tactic):
    """Results leave in the order of the left timestamp; subclasses say what waits."""

    #: The table of what waits, and whether these are results already.
    waits_in: str
    are_results: bool

    def tables(self, inputs: Inputs) -> dict[str, str]:
        return {self.waits_in: inputs.times[0]}

    def release(self, inputs: Inputs) -> Iterable[pl.DataFrame]:
        rows = inputs.state.table(self.waits_in).take_in_order(self.whole(inputs))
        return () if rows is None else self.leave(inputs, rows)

    def leave(self, inputs: Inputs, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
        """The results of what has waited, which is in order."""
        return (rows,)

    def whole(self, inputs: Inputs) -> int:
        """Left rows below have all their partners."""
        return inputs.reach.output_bound(0, inputs.state.reached)

    def complete(self, inputs: Inputs) -> Sequence[int]:
        return [self.whole(inputs), inputs.state.reached[1]]

    # -- what it waits for --------------------------------------------------------------------

    def held(self, inputs: Inputs, cursors: Sequence[Cursor]) -> Iterable[Waiting]:
        first = inputs.state.table(self.waits_in).lowest()
        return () if first is None else (_waiting(inputs, first, certain=self.are_results),)

    def passes(self, inputs: Inputs, port: int, times: Times) -> Iterable[Waiting]:
        time = times[inputs.on[port]]
        if time is not None:
            left = inputs.reach.first(0, 1, time) if port else time
            yield _waiting(inputs, left, certain=False)

    def needed(self, inputs: Inputs, port: int, bound: int) -> Sequence[int]:
        reach = inputs.reach
        if port == 0:
            return reach.needed(0, bound)
        left, right = reach.needed(0, reach.needed(1, bound)[0])
        return left, max(right, bound)


def _waiting(inputs: Inputs, time: int, *, certain: bool) -> Waiting:
    """A result with a left row of that time."""
    needs = inputs.needs(inputs.reach.needed(0, time + 1))
    return Waiting(needs, inputs.least_times(0, time), certain)
