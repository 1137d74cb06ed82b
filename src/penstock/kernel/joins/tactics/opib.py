"""OPIB: order-preserving, input-buffered.

Left rows wait, sorted, until the right side's bound says that all their partners have come; then
they are joined in order, and so the results come in the order of the left timestamp. Right rows are
stored until no left row can need them. Less memory than OPOB where there are more results than
rows, and more latency.  Spec: window-queries 6.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.pair_inputs import PairInputs
from penstock.kernel.joins.tactics.by_left import ByLeft
from penstock.kernel.progress.release import Times, Waiting

if TYPE_CHECKING:
    from penstock.kernel.buffer import Cursor
    from penstock.kernel.joins.window_join import WindowJoin


class OPIB(ByLeft):
    """Left rows are joined once, in order, when all their partners have come."""

    name = "OPIBJoin"

    def tables(self, inputs: Inputs) -> dict[str, str]:
        return {"left_queue": inputs.times[0]}

    def take(self, join: WindowJoin, port: int, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
        inputs = _pair(join)
        rows = inputs.can_match(port, rows)
        if port == 0:
            join.state.table("left_queue").append_sorted(rows)
        else:
            inputs.keep(port, rows)
        return ()

    def release(self, join: WindowJoin) -> Iterable[pl.DataFrame]:
        rows = join.state.table("left_queue").take_in_order(self.whole(join))
        pairs = None if rows is None else _pair(join).find(0, rows)
        return () if pairs is None else (pairs.sort(join.inputs.times[0]),)

    def come(self, join: WindowJoin) -> Sequence[int]:
        return self.complete(join)

    def held(self, join: WindowJoin, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        """Whether left rows have partners is looked for when all have come."""
        first = join.state.table("left_queue").lowest()
        return () if first is None else (self.waiting(join, first, certain=False),)

    def passes(self, join: WindowJoin, port: int, times: Times) -> Iterable[Waiting]:
        time = times[join.inputs.on[port]]
        if time is None:
            return ()
        left = join.inputs.reach.first(0, 1, time) if port else time
        return (self.waiting(join, left, certain=False),)


def _pair(join: WindowJoin) -> PairInputs:
    assert isinstance(join.inputs, PairInputs)  # it has a left side and a right one
    return join.inputs
