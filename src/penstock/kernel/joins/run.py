"""Run: rows of one side of a join, sorted so that partners stand side by side.

Every row has a *code* of 64 bits: a hash of its join keys in front, its time behind.

    code    | 28 bits of hash | 36 bits of time, in cells |

The partners of a row are then the codes from (its hash, its first partner's time) to (its hash, its
last partner's time): one contiguous stretch, found by two binary searches, whether the window is
long or short, a key is hot, or there is no key at all (then all hashes are 0). What is found are
*candidates*: hashes can collide, so the join compares
their keys again. Times have been compared.

Probing rows are sorted in the same way, so that a whole block walks through a run from front to
back; that makes a search cost some 30 ns. A run lies within one *epoch*, the stretch of time in
which cells do not repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from penstock.kernel.aggregation.wid.overlay import repeat_ranges
from penstock.kernel.joins.partners import Times

#: The column that keeps a row's code.
CODE = "__code"

CELL_BITS = 36
HASH_BITS = 64 - CELL_BITS
_MASK = np.uint64((1 << CELL_BITS) - 1)
#: Cells that the widest band should be cut into: more of them mean fewer false candidates.
_CELLS_PER_BAND_BITS = 24

Codes = npt.NDArray[np.uint64]
Index = npt.NDArray[np.int64]


def cell_shift(width: int) -> int:
    """By how many bits to shorten times, so that an epoch is some thousand bands long.

    >>> cell_shift(20_000_000), cell_shift(1 << 40)
    (1, 17)
    """
    return max(0, width.bit_length() - _CELLS_PER_BAND_BITS)


def epochs(times: Times, shift: int) -> Times:
    """The epoch of each time."""
    return times >> (shift + CELL_BITS)


def encode(hashes: Codes, times: Times, shift: int) -> Codes:
    """The codes of rows with these hashes and times."""
    cells = (times >> shift).view(np.uint64) & _MASK
    codes: Codes = hashes << np.uint64(CELL_BITS) | cells
    return codes


@dataclass(frozen=True, eq=False)
class Needles:
    """Rows that look for partners, sorted by hash and time."""

    hashes: Codes
    first: Times  # of their partners
    last: Times


@dataclass(frozen=True, eq=False)
class Run:
    """Rows sorted by code, all of one epoch."""

    rows: pl.DataFrame
    on: str

    @cached_property
    def codes(self) -> Codes:
        return self.rows.get_column(CODE).to_numpy()

    @cached_property
    def _only(self) -> dict[tuple[str, ...], pl.DataFrame]:
        return {}

    def only(self, names: Sequence[str]) -> pl.DataFrame:
        """Some columns of the rows; every block that looks in asks for the same."""
        asked = tuple(names)
        if asked not in self._only:
            self._only[asked] = self.rows[list(asked)]
        return self._only[asked]

    @cached_property
    def times(self) -> Times:
        times: Times = self.rows.get_column(self.on).cast(pl.Int64).to_numpy()
        return times

    @cached_property
    def first(self) -> int:
        """The least time in it."""
        return int(self.times.min())

    @cached_property
    def last(self) -> int:
        """The greatest time in it."""
        return int(self.times.max())

    @cached_property
    def middle(self) -> int:
        """Half of its rows are not above this time."""
        return int(np.partition(self.times, len(self.times) // 2)[len(self.times) // 2])

    def candidates(self, needles: Needles, shift: int) -> tuple[Index, Index]:
        """Pairs of a needle and a row of the run that may be partners, by position."""
        # Within the run's own times, which are of one epoch, so that cells are in order.
        low = encode(needles.hashes, np.maximum(needles.first, self.first), shift)
        high = encode(needles.hashes, np.minimum(needles.last, self.last), shift)
        codes = self.codes
        start = np.searchsorted(codes, low)
        found = codes[np.minimum(start, len(codes) - 1)] <= high
        # Where all partners lie before or behind the run, the clipped ends say nothing.
        found &= (start < len(codes)) & (needles.first <= self.last) & (needles.last >= self.first)
        hits = np.flatnonzero(found)
        start = start[hits]
        counts = np.searchsorted(codes, high[hits], side="right") - start
        mine, theirs = np.repeat(hits, counts), repeat_ranges(start, counts)
        if not shift:
            return mine, theirs
        # A cell is wider than a tick: those at both ends may hold times outside the band.
        times = self.times[theirs]
        exact = (needles.first[mine] <= times) & (times <= needles.last[mine])
        return (mine, theirs) if exact.all() else (mine[exact], theirs[exact])


def merge(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The rows of one run of several of the same epoch."""
    rows = pl.concat(parts, rechunk=True)
    codes = rows.get_column(CODE).to_numpy()
    # Stable: this sort finds the runs in it and merges them.
    return rows[np.argsort(codes, kind="stable")]
