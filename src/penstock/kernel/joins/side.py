"""Side: what a join does with the rows of one input before they meet the other's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.joins.keys import Keys
from penstock.kernel.joins.partners import Times, partners, widest
from penstock.kernel.joins.run import CODE, Needles, cell_shift, encode
from penstock.kernel.joins.spec import JoinSpec
from penstock.kernel.joins.store import Store
from penstock.windows import TumblingBand


@dataclass(frozen=True, eq=False)
class Arrived:
    """New rows under the join's names, sorted by code, and what they look for."""

    rows: pl.DataFrame
    times: Times
    needles: Needles

    def __len__(self) -> int:
        return self.rows.height


class Side:
    """One input of a join, and the store of its rows."""

    def __init__(self, spec: JoinSpec, number: int) -> None:
        side = spec.sides[number]
        self.number = number
        self.on = side.column(side.on)
        self.names = [side.column(column.name) for column in side.columns]
        self._incoming = [column.name for column in side.columns]
        self._band = spec.band
        self._shift = cell_shift(widest(spec.band))
        self._keys = Keys(spec.keys[number], spec.keys[1 - number])
        tumbling = spec.band if isinstance(spec.band, TumblingBand) else None
        self.store = Store(self.on, self._shift, tumbling)

    def named(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows under the join's names."""
        return rows.select(pl.col(old).alias(new) for old, new in self._renamed)

    @property
    def _renamed(self) -> zip[tuple[str, str]]:
        return zip(self._incoming, self.names, strict=True)

    def can_match(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Without rows that have NULL for a key or a time: those equal nothing."""
        rows = self._keys.without_null(rows)
        return rows.drop_nulls(self.on) if rows.get_column(self.on).null_count() else rows

    def cannot_match(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows that `can_match` leaves out."""
        return rows.filter(pl.any_horizontal(*self._keys.missing, pl.col(self.on).is_null()))

    def arrive(self, rows: pl.DataFrame) -> Arrived:
        """Make rows that can match ready to look for partners, and to be stored."""
        hashes = self._keys.hashes(rows)
        times = rows.get_column(self.on).cast(pl.Int64).to_numpy()
        codes = encode(hashes, times, self._shift)
        order = np.argsort(codes)
        times = times[order]
        rows = rows[order].with_columns(pl.Series(CODE, codes[order]))
        first, last = partners(self._band, self.number, times)
        return Arrived(rows, times, Needles(hashes[order], first, last))
