"""PartitionIndex: finds the rows of some partitions in a table without looking at all of them.

Segments do not change, so the hashes of a segment's partitions are sorted once, when it is first
asked; to find a partition takes some steps then, however many others there are. Of segments that
are small, compared with what is sought, all rows are given. An index is no state: it is made anew
of segments that were restored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from penstock.kernel.aggregates.grouping import Ids, frame, take
from penstock.kernel.aggregation.wid.overlay import repeat_ranges
from penstock.kernel.segments import Segment

_Hashes = npt.NDArray[np.uint64]


#: Rows of a segment per row that is sought, below which it is not worth while to look for them.
FEW = 4


class PartitionIndex:
    """Looks for rows by the columns `partition`; without any, all rows are in one partition."""

    def __init__(self, partition: Sequence[str]) -> None:
        self._partition = list(partition)
        self._sorted: dict[int, tuple[_Hashes, Ids]] = {}  # by segment: hashes, and where they are

    def of_same(
        self, segments: Sequence[Segment], sought: pl.DataFrame, columns: Sequence[str]
    ) -> Iterator[pl.DataFrame]:
        """Of each segment, the columns of all rows in the partition of one of the rows `sought`.

        Among them are others, which whoever asks must tell apart, but not many.
        """
        there = {segment.id for segment in segments}
        self._sorted = {key: found for key, found in self._sorted.items() if key in there}
        hashes: _Hashes | None = None
        for segment in segments:
            if not self._partition or segment.rows.height <= FEW * sought.height:
                yield segment.rows.select(columns)
                continue
            if hashes is None:
                hashes = np.unique(self._hashes(sought))
            places = self._places(segment, hashes)
            yield frame(take({name: segment.whole[name] for name in columns}, places))

    def _places(self, segment: Segment, hashes: _Hashes) -> Ids:
        """Where rows with these hashes are, but those that were purged."""
        if segment.id not in self._sorted:
            unordered = self._hashes(segment.whole)
            order = unordered.argsort()
            self._sorted[segment.id] = unordered[order], order
        ordered, order = self._sorted[segment.id]
        first, stop = ordered.searchsorted(hashes), ordered.searchsorted(hashes, "right")
        places = order[repeat_ranges(first, stop - first)]
        return places[places >= segment.purged]

    def _hashes(self, rows: pl.DataFrame) -> _Hashes:
        """Equal for equal keys: NULL is a key, all NaN are one, and so are 0.0 and -0.0."""
        return rows.select(self._partition).hash_rows().to_numpy()
