"""OPIB: order-preserving, input-buffered.

Left rows wait, sorted, until the right side's bound says that all their partners have come; then
they are joined in order, and so the results come in the order of the left timestamp. Right rows are
stored until no left row can need them. Less memory than OPOB where there are more results than
rows, and more latency.  Spec: window-queries 6.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.pair_inputs import PairInputs
from penstock.kernel.joins.tactics.by_left import ByLeft


class OPIB(ByLeft):
    """Left rows are joined once, in order, when all their partners have come."""

    name = "OPIBJoin"
    waits_in = "left_queue"
    are_results = False  # whether left rows have partners is looked for when all have come

    def take(self, inputs: Inputs, port: int, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
        assert isinstance(inputs, PairInputs)  # it has a left side and a right one
        rows = inputs.can_match(port, rows)
        if port == 0:
            inputs.state.table("left_queue").append_sorted(rows)
        else:
            inputs.keep(port, rows)
        return ()

    def waiting(self, inputs: Inputs) -> Iterator[tuple[int, pl.DataFrame]]:
        assert isinstance(inputs, PairInputs)
        for rows in inputs.state.table("left_queue"):
            yield 0, inputs.sides[0].as_they_came(rows)

    def leave(self, inputs: Inputs, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
        assert isinstance(inputs, PairInputs)
        pairs = inputs.find(0, rows)
        return () if pairs is None else (pairs.sort(inputs.times[0]),)

    def come(self, inputs: Inputs) -> Sequence[int]:
        return self.complete(inputs)
