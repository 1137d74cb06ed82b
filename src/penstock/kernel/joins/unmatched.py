"""Which rows of one side have met a partner, without rewriting stored rows.

A row that finds no partner when it comes gets a number and waits. When a partner comes later, the
number is noted among those that *met*. When no partner can come any more, a waiting row that has
not met one leaves alone. So a match writes a number, never a row again.

    waiting    rows without a partner so far, in segments sorted by time: they leave from the front
    met        numbers and times of waiting rows that met one, in runs sorted by number

Spec: window-queries 6.1 says when no partner can come (`purge`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from penstock.kernel.joins.partners import Times
from penstock.kernel.joins.run import CODE, Index
from penstock.kernel.joins.store import Store
from penstock.kernel.segments import Mask, SegmentTable

#: A stored row's number; NOBODY where nobody asks whether it met a partner.
NUMBER = "__number"
NOBODY = -1

#: Rows that are looked at in one go, and at all, for the first without a partner: mostly it is near
#: the front.
LOOKED_AT, MOST_LOOKED_AT = 1 << 10, 1 << 14


class Unmatched:
    """The waiting rows of one side; `on` is the time column."""

    def __init__(self, on: str) -> None:
        self._on = on
        self._met = Store(on, 0)

    def meet(self, met: SegmentTable, numbers: Index, times: Times) -> Index:
        """Note rows that met a partner; gives the positions of those that had not before."""
        first: Index
        numbers, first = np.unique(numbers, return_index=True)
        new = (numbers != NOBODY) & ~self._has_met(met, numbers)
        first = first[new]
        if len(first):
            rows = pl.DataFrame({CODE: numbers[new].astype(np.uint64), self._on: times[first]})
            self._met.add(met, rows, times[first])
        return first

    def leave(
        self, waiting: SegmentTable, met: SegmentTable, keep_from: int
    ) -> pl.DataFrame | None:
        """Take the rows below `keep_from` that never met a partner."""
        alone = self._lone(waiting.take_below(keep_from), met)
        self._met.purge(met, keep_from)
        return alone

    def first(self, waiting: SegmentTable, met: SegmentTable) -> tuple[int, bool] | None:
        """The time of the first row that has not met a partner.

        And whether that is certain: after many that have met one, it is the first not looked at.
        """
        found: list[tuple[int, bool]] = []
        left = MOST_LOOKED_AT
        for rows in waiting:
            times = rows.get_column(self._on)
            for place in range(0, rows.height, LOOKED_AT):
                if found and times[place] >= min(found)[0]:
                    break
                if left <= 0:
                    found.append((int(times[place]), False))
                    break
                part = rows.slice(place, LOOKED_AT)
                left -= part.height
                lone = ~self._has_met(met, part.get_column(NUMBER).to_numpy())
                if lone.any():
                    found.append((int(times[place + int(lone.argmax())]), True))
                    break
        return min(found, default=None)

    def leave_where(
        self, waiting: SegmentTable, met: SegmentTable, over: Callable[[pl.DataFrame], Mask]
    ) -> pl.DataFrame | None:
        """Take the rows for which a condition holds and that never met a partner."""
        return self._lone(waiting.take_where(over), met)

    def _lone(self, taken: list[pl.DataFrame], met: SegmentTable) -> pl.DataFrame | None:
        if not taken:
            return None
        rows = pl.concat(taken)
        return rows.filter(~self._has_met(met, rows.get_column(NUMBER).to_numpy()))

    def _has_met(self, met: SegmentTable, numbers: Index) -> Mask:
        found = np.zeros(len(numbers), np.bool_)
        asked = numbers.astype(np.uint64)
        for run in self._met.runs(met.segments):
            place = np.minimum(np.searchsorted(run.codes, asked), len(run.codes) - 1)
            found |= run.codes[place] == asked
        return found
