"""OPOB: order-preserving, output-buffered.

Joins like OA-Join, and sorts the results in a buffer by the first input's timestamp before it lets
them out. A baseline: all results of a window wait in the buffer.  Spec: window-queries 6.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.progress.release import Times, Waiting

if TYPE_CHECKING:
    from penstock.kernel.buffer import Cursor
    from penstock.kernel.joins.window_join import WindowJoin


class OPOB(Tactic):
    """Results wait until none can come before them."""

    name = "OPOBJoin"

    def tables(self, inputs: Inputs) -> dict[str, str]:
        return {"held": inputs.times[0]}

    def take(self, join: WindowJoin, port: int, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
        for found in join.inputs.meet(port, rows):
            join.state.table("held").append_sorted(found)
        return ()

    def release(self, join: WindowJoin) -> Iterable[pl.DataFrame]:
        bound = join.inputs.reach.output_bound(0, join.state.reached)
        rows = join.state.table("held").take_in_order(bound)
        return () if rows is None else (rows,)

    def promised(self, join: WindowJoin) -> Sequence[int]:
        return (0,)

    def held(self, join: WindowJoin, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        first = join.state.table("held").lowest()
        return () if first is None else (self._in_order(join, first, certain=True),)

    def passes(self, join: WindowJoin, port: int, times: Times) -> Iterable[Waiting]:
        for pair in join.inputs.passes(port, times):
            first = pair.times[join.inputs.times[0]]
            assert first is not None  # it finds pairs only
            yield self._in_order(join, first, certain=False)

    def _in_order(self, join: WindowJoin, time: int, *, certain: bool) -> Waiting:
        needs = join.inputs.needs(self.needed(join, 0, time + 1))
        return Waiting(needs, {join.inputs.times[0]: time}, certain)
