"""The least value that a column has in the rows of a table that leave in another column's order.

Rows leave from the fronts of segments, so what is asked for is the least value behind some place of
each. That is computed once for all places when a segment is first seen, and then looked up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.kernel.segments import Segment, SegmentTable
from penstock.model.timestamps import END


class LeastHeld:
    """Remembers, for segments that are there, the least value from each row on."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], npt.NDArray[np.int64]] = {}

    def of(self, table: SegmentTable, column: str) -> int:
        """The least value of a column, NULLs left out; END: there is none.

        >>> import polars as pl
        >>> held, table = LeastHeld(), SegmentTable(on="ts")
        >>> table.append_sorted(pl.DataFrame({"ts": [1, 2, 3], "at": [0, 9, 5]}))
        >>> before, _ = held.of(table, "at"), table.take_below(2)
        >>> before, held.of(table, "at")
        (0, 5)
        """
        there = {segment.id for segment in table.segments}
        self._known = {key: least for key, least in self._known.items() if key[0] in there}
        return min((self._from(s, column) for s in table.segments if s.rows.height), default=END)

    def _from(self, segment: Segment, column: str) -> int:
        key = segment.id, column
        if key not in self._known:
            values: Any = segment.whole.get_column(column).to_physical().fill_null(END).to_numpy()
            self._known[key] = np.minimum.accumulate(values[::-1])[::-1]
        return int(self._known[key][segment.purged])
