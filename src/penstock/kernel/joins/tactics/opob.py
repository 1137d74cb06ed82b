"""OPOB: order-preserving, output-buffered.

Joins like OA-Join, and sorts the results in a buffer by the first input's timestamp before it lets
them out. A baseline: all results of a window wait in the buffer.  Spec: window-queries 6.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.tactics.by_left import ByLeft
from penstock.kernel.progress.release import Times, Waiting

if TYPE_CHECKING:
    from penstock.kernel.buffer import Cursor
    from penstock.kernel.joins.window_join import WindowJoin


class OPOB(ByLeft):
    """Results wait until none can come before them."""

    name = "OPOBJoin"

    def tables(self, inputs: Inputs) -> dict[str, str]:
        return {"held": inputs.times[0]}

    def take(self, join: WindowJoin, port: int, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
        for found in join.inputs.meet(port, rows):
            join.state.table("held").append_sorted(found)
        return ()

    def release(self, join: WindowJoin) -> Iterable[pl.DataFrame]:
        rows = join.state.table("held").take_in_order(self.whole(join))
        return () if rows is None else (rows,)

    def held(self, join: WindowJoin, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        first = join.state.table("held").lowest()
        return () if first is None else (self.waiting(join, first, certain=True),)

    def passes(self, join: WindowJoin, port: int, times: Times) -> Iterable[Waiting]:
        for pair in join.inputs.passes(port, times):
            first = pair.times[join.inputs.times[0]]
            assert first is not None  # it finds pairs only
            yield self.waiting(join, first, certain=False)
