"""TableIndex: the rows of a static table, found by a hash of their keys.

Rows are sorted by hash, and a directory says for every value of a hash's first bits where its rows
begin. There are at least as many such values as rows, so a probe looks at one place and finds a
handful of candidates, whatever the size of the table; a whole block is looked up at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from penstock.kernel.aggregation.wid.overlay import repeat_ranges
from penstock.kernel.joins.run import HASH_BITS, Codes, Index

#: A directory of more than 2^this entries would not fit into a processor's cache any more.
_DIRECTORY_BITS = 22
#: Candidates that are looked at together; without keys there is one per row and row of the table.
CANDIDATES = 1 << 20


class TableIndex:
    """Rows and the hashes of their keys."""

    def __init__(self, rows: pl.DataFrame, hashes: Codes) -> None:
        order = np.argsort(hashes, kind="stable")
        self.rows = rows[order]
        self._hashes = hashes[order]
        bits = min(_DIRECTORY_BITS, max(1, rows.height.bit_length()))
        self._shift = np.uint64(HASH_BITS - bits)
        places = np.arange((1 << bits) + 1, dtype=np.uint64) << self._shift
        self._starts = np.searchsorted(self._hashes, places)

    def candidates(self, hashes: Codes) -> Iterator[tuple[Index, Index]]:
        """(places of probing rows, places of the table's rows) with equal hashes, in order.

        Pairs come in the order of the probing rows, so many at a time as fit in memory.
        """
        place = (hashes >> self._shift).astype(np.int64)
        first = self._starts[place]
        lengths = self._starts[place + 1] - first
        behind = np.cumsum(lengths)
        start = 0
        while start < len(hashes):
            before = behind[start - 1] if start else 0
            end = max(start + 1, int(np.searchsorted(behind, before + CANDIDATES, "right")))
            part = slice(start, end)
            new = np.repeat(np.arange(start, end), lengths[part])
            old = repeat_ranges(first[part], lengths[part])
            same = self._hashes[old] == hashes[new]
            yield new[same], old[same]
            start = end
