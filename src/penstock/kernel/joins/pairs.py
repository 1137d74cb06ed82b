"""Pairs: new rows beside their partners among the stored ones.

Candidates come from the runs of a store; gathered side by side, they are tested against the join's
conditions all at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.joins.run import Index
from penstock.kernel.joins.side import Arrived, Side
from penstock.kernel.joins.spec import JoinSpec
from penstock.kernel.joins.unmatched import NOBODY, NUMBER
from penstock.kernel.segments import SegmentTable


@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows of both sides, left columns first; `new` and `numbers` say who they are."""

    rows: pl.DataFrame
    new: Index  # position of the new row in its block
    numbers: Index  # of the stored row


class Pairing:
    """Puts rows of both sides together as the join's results have them."""

    def __init__(self, spec: JoinSpec, sides: tuple[Side, Side]) -> None:
        self._sides = sides
        self._one_sided = spec.kind.is_one_sided
        self._told_apart = [spec.kind.tells_apart(side) for side in (0, 1)]
        self._match = spec.match
        self._nothing = [spec.match.nothing(side) for side in (0, 1)]

    def find(self, port: int, arrived: Arrived, stored: SegmentTable) -> Pairs | None:
        """New rows of a side with their partners among the other side's stored ones."""
        other = self._sides[1 - port]
        found = list(other.store.candidates(stored, arrived.needles))
        if not found:
            return None
        new = np.concatenate([mine for _, mine, _ in found])
        theirs = pl.concat([run.only(other.names)[old] for run, _, old in found])
        mine = arrived.rows[self._sides[port].names][new]
        rows = theirs.hstack(mine) if port else mine.hstack(theirs)
        numbers = np.full(0, NOBODY)
        if self._told_apart[1 - port]:
            numbers = np.concatenate(
                [run.rows.get_column(NUMBER).to_numpy()[old] for run, _, old in found]
            )
        holds = self._match.holds(rows)
        if holds is None:
            return Pairs(rows, new, numbers)
        mask = holds.to_numpy()
        numbers = numbers[mask] if len(numbers) else numbers
        return Pairs(rows.filter(holds), new[mask], numbers) if mask.any() else None

    def alone(self, port: int, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of one side as results without a partner."""
        rows = rows.select(self._sides[port].names)
        if self._one_sided:
            return rows
        padded = rows.with_columns(self._nothing[1 - port])
        return padded.select([name for side in self._sides for name in side.names])
