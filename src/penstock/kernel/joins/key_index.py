"""KeyIndex: the stored rows of one input of a join, found by some of its keys and by time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.joins.keys import Keys
from penstock.kernel.joins.partners import Times
from penstock.kernel.joins.run import CODE, Codes, encode
from penstock.kernel.joins.state import JoinState
from penstock.kernel.joins.store import Store
from penstock.windows import TumblingBand


@dataclass(eq=False)
class KeyIndex:
    """An index of an input, in a table of the join's state; `on` is the time column."""

    port: int
    table: str
    on: str
    keys: Keys
    shift: int
    tumbling: TumblingBand | None = None

    def __post_init__(self) -> None:
        self.store = Store(self.on, self.shift, self.tumbling)

    def is_like(self, other: KeyIndex) -> bool:
        """Whether both sort rows alike."""
        mine = self.on, self.keys.text, self.shift, self.tumbling
        return mine == (other.on, other.keys.text, other.shift, other.tumbling)

    def coded(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, Times, Codes]:
        """Rows sorted by their codes, which they get; their times, and the hashes of their keys."""
        hashes = self.keys.hashes(rows)
        times = rows.get_column(self.on).cast(pl.Int64).to_numpy()
        codes = encode(hashes, times, self.shift)
        order = np.argsort(codes)
        rows = rows[order].hstack([pl.Series(CODE, codes[order])])
        return rows, times[order], hashes[order]

    def keep(self, state: JoinState, rows: pl.DataFrame) -> None:
        """Store rows that can match."""
        if rows.height:
            rows, times, _ = self.coded(rows)
            self.store.add(state.table(self.table), rows, times)

    def hash_again(self, state: JoinState) -> None:
        """Hash the stored rows again."""
        stored = list(state.table(self.table))
        state.table(self.table).clear()
        for rows in stored:
            self.keep(state, rows.drop(CODE))
