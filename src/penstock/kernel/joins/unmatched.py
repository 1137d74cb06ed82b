"""Which rows of one side have met a partner, without rewriting or copying stored rows.

A row that finds no partner when it comes gets a number, and is stored like the others. When a
partner comes later, the number is noted among those that *met*. When no partner can come any more,
a numbered row that has not met one leaves alone. So a match writes a number, never a row again.

    stored     the side's rows (`store`); a run may hold rows for longer than it must
    met        numbers and times of stored rows that met one, in runs sorted by number
    since      rows below have left already, though they may still be stored

Rows leave by time, and runs are sorted by key: `_Numbered` finds those of a stretch of time, so
what it costs to let rows leave follows these, not all that are stored.
Spec: window-queries 6.1 says when no partner can come (`purge`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from penstock.kernel.joins.partners import Times
from penstock.kernel.joins.run import CODE, Index, Run
from penstock.kernel.joins.store import Store
from penstock.kernel.segments import Mask, SegmentTable

#: A stored row's number; NOBODY where it had a partner when it came.
NUMBER = "__number"
NOBODY = -1

#: Rows that are looked at in one go, and at all, for the first without a partner: mostly it is near
#: the front.
LOOKED_AT, MOST_LOOKED_AT = 1 << 10, 1 << 14


@dataclass(frozen=True, eq=False)
class _Numbered:
    """The rows of a run that came without a partner, by time."""

    run: Run

    @cached_property
    def numbers(self) -> Index:
        """Of all rows of the run, as they stand there."""
        return self.run.rows.get_column(NUMBER).to_numpy()

    @cached_property
    def positions(self) -> Index:
        numbered = np.flatnonzero(self.numbers != NOBODY)
        return numbered[np.argsort(self.run.times[numbered])]

    @cached_property
    def times(self) -> Times:
        return self.run.times[self.positions]


class Unmatched:
    """The rows of one side that may have no partner; `store` has them, `on` is the time column."""

    def __init__(self, on: str, store: Store) -> None:
        self._on = on
        self._store = store
        self._met = Store(on, 0)
        self._numbered: dict[Run, _Numbered] = {}

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
        self, stored: SegmentTable, met: SegmentTable, since: int, keep_from: int
    ) -> Iterator[pl.DataFrame]:
        """The rows below `keep_from` that never met a partner; then `since` is `keep_from`."""
        for each in self._by_time(stored):
            start, stop = np.searchsorted(each.times, (since, keep_from))
            if start == stop:
                continue
            # As they stand in the run: so are their numbers in order, mostly, and soon looked up.
            positions = np.sort(each.positions[start:stop])
            positions = positions[~self._has_met(met, each.numbers[positions])]
            if len(positions):
                yield each.run.rows[positions]

    def forget(self, met: SegmentTable, keep_from: int) -> None:
        """Forget who met a partner, of the rows below."""
        self._met.purge(met, keep_from)

    def alone(self, rows: pl.DataFrame, met: SegmentTable, since: int) -> pl.DataFrame:
        """Those of stored rows that have not left, and never met a partner."""
        numbers = rows.get_column(NUMBER).to_numpy()
        return rows.filter(
            (numbers != NOBODY)
            & (rows.get_column(self._on).cast(pl.Int64).to_numpy() >= since)
            & ~self._has_met(met, numbers)
        )

    def first(self, stored: SegmentTable, met: SegmentTable, since: int) -> tuple[int, bool] | None:
        """The time of the first row that has not met a partner.

        And whether that is certain: after many that have met one, it is the first not looked at.
        """
        found: list[tuple[int, bool]] = []
        left = MOST_LOOKED_AT
        for each in self._by_time(stored):
            times = each.times
            for place in range(int(np.searchsorted(times, since)), len(times), LOOKED_AT):
                if found and times[place] >= min(found)[0]:
                    break
                if left <= 0:
                    found.append((int(times[place]), False))
                    break
                part = each.positions[place : place + LOOKED_AT]
                left -= len(part)
                lone = ~self._has_met(met, each.numbers[part])
                if lone.any():
                    found.append((int(times[place + int(lone.argmax())]), True))
                    break
        return min(found, default=None)

    def _by_time(self, stored: SegmentTable) -> list[_Numbered]:
        runs = self._store.runs(stored.segments)
        self._numbered = {run: self._numbered.get(run) or _Numbered(run) for run in runs}
        return list(self._numbered.values())

    def _has_met(self, met: SegmentTable, numbers: Index) -> Mask:
        found = np.zeros(len(numbers), np.bool_)
        asked = numbers.astype(np.uint64)
        for run in self._met.runs(met.segments):
            place = np.minimum(np.searchsorted(run.codes, asked), len(run.codes) - 1)
            found |= run.codes[place] == asked
        return found
