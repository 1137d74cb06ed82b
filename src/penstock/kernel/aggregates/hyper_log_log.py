"""approx_count_distinct(x): HyperLogLog, within 2 % or so, in at most 4096 registers per group.

Each value is hashed; some bits of the hash choose a register, and the register keeps the longest
run of zeros that the other bits began with. Registers of several groups merge by taking the
greatest. Only registers that are not empty are kept, so small groups stay small.

Sketch libraries hold one object per sketch, which means a call per group and batch; registers in a
list column are merged for all groups at once.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from penstock.kernel.aggregates.distinct import Set
from penstock.kernel.aggregates.grouping import Columns, Grouping
from penstock.kernel.aggregates.lists import GROUP, VALUE, lists_of, unpack

#: 2 to this many registers.
BITS = 12
_REGISTERS = 1 << BITS
#: A register and its rank in one number: ranks fit into 6 bits.
_RANKS = 64


class ApproxCountDistinct(Set):
    """The registers that are not empty."""

    kinds = ("registers",)
    element = pl.Int64()

    def elements(self, rows: Columns, groups: Grouping) -> pl.DataFrame:
        found = super().elements(rows, groups)
        hashes = found.get_column(VALUE).hash(seed=0).to_numpy()
        # Polars hashes small integers to near neighbours; this spreads them over all bits.
        hashes = hashes ^ (hashes >> np.uint64(33))
        hashes = hashes * np.uint64(0xFF51AFD7ED558CCD)
        hashes = hashes ^ (hashes >> np.uint64(33))
        register = (hashes >> np.uint64(64 - BITS)).astype(np.int64)
        rest = (hashes & np.uint64((1 << 52) - 1)).astype(np.int64)
        # Numbers of 52 bits are exact as floats, whose exponent tells where the first bit is.
        rank = 53 - np.frexp(rest.astype(np.float64))[1].astype(np.int64)
        coded = pl.Series(VALUE, register * _RANKS + rank)
        return found.select(GROUP).hstack([coded])

    def packed(self, rows: pl.DataFrame, size: int) -> pl.Series:
        """The greatest rank of each register."""
        best = rows.group_by(GROUP, register=pl.col(VALUE) // _RANKS).agg(pl.col(VALUE).max())
        best = best.sort(GROUP, VALUE)
        return lists_of(best.get_column(VALUE), best.get_column(GROUP).to_numpy(), size)

    def result(self, partials: Columns) -> pl.Series:
        registers = partials[self.columns[0]]
        rows = unpack(registers, np.arange(len(registers)))
        ids = rows.get_column(GROUP).to_numpy()
        rank = rows.get_column(VALUE).to_numpy() % _RANKS
        filled = np.bincount(ids, minlength=len(registers))
        empty = _REGISTERS - filled
        inverse = np.bincount(ids, weights=2.0**-rank, minlength=len(registers)) + empty
        raw = 0.7213 / (1 + 1.079 / _REGISTERS) * _REGISTERS**2 / inverse
        # Where many registers are empty, counting these is more exact.
        linear = _REGISTERS * np.log(_REGISTERS / np.maximum(empty, 1))
        found = np.where((raw <= 2.5 * _REGISTERS) & (empty > 0), linear, raw)
        return pl.Series(np.rint(found).astype(np.int64))
