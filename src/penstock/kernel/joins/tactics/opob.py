"""OPOB: order-preserving, output-buffered.

Joins like OA-Join, and sorts the results in a buffer by the first input's timestamp before it lets
them out. A baseline: all results of a window wait in the buffer.  Spec: window-queries 6.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.tactics.by_left import ByLeft


class OPOB(ByLeft):
    """Results wait until none can come before them."""

    name = "OPOBJoin"
    waits_in = "held"
    are_results = True

    def held_results(self, inputs: Inputs) -> Iterator[pl.DataFrame]:
        return iter(inputs.state.table("held"))

    def take_over(self, inputs: Inputs, results: Iterable[pl.DataFrame]) -> Iterable[pl.DataFrame]:
        for rows in results:
            inputs.state.table("held").append_sorted(rows)
        return ()

    def take(self, inputs: Inputs, port: int, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
        for found in inputs.meet(port, rows):
            inputs.state.table("held").append_sorted(found)
        return ()
