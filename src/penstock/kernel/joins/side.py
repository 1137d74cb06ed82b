"""Side: what a join does with the rows of one input before they meet the other's."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from penstock.kernel.joins.key_index import KeyIndex
from penstock.kernel.joins.keys import Keys
from penstock.kernel.joins.partners import Times, partners, widest
from penstock.kernel.joins.run import Needles, cell_shift
from penstock.kernel.joins.spec import JoinSpec
from penstock.windows import TumblingBand

NAMES = ["left", "right"]


@dataclass(frozen=True, eq=False)
class Arrived:
    """New rows under the join's names, sorted by code, and what they look for."""

    rows: pl.DataFrame
    times: Times
    needles: Needles


class Side(KeyIndex):
    """One input of a join, and the store of its rows."""

    def __init__(self, spec: JoinSpec, port: int) -> None:
        side, keys = spec.sides[port], spec.match.keys
        super().__init__(
            port,
            NAMES[port],
            side.column(side.on),
            Keys(keys[port], keys[1 - port]),
            cell_shift(widest(spec.band)),
            spec.band if isinstance(spec.band, TumblingBand) else None,
        )
        self.names = side.names
        self._own = [(column.name, side.column(column.name)) for column in side.columns]
        self._spec = side
        self._band = spec.band

    def named(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows under the join's names."""
        return self._spec.named(rows)

    def as_they_came(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows under the names of the input."""
        return rows.select(pl.col(mine).alias(own) for own, mine in self._own)

    def can_match(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Without rows that have NULL for a key or a time: those equal nothing."""
        rows = self.keys.without_null(rows)
        return rows.drop_nulls(self.on) if rows.get_column(self.on).null_count() else rows

    def cannot_match(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows that `can_match` leaves out."""
        return rows.filter(pl.any_horizontal(*self.keys.missing, pl.col(self.on).is_null()))

    def arrive(self, rows: pl.DataFrame) -> Arrived:
        """Make rows that can match ready to look for partners, and to be stored."""
        rows, times, hashes = self.coded(rows)
        first, last = partners(self._band, self.port, times)
        return Arrived(rows, times, Needles(hashes, first, last))
