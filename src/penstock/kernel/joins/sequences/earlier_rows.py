"""EarlierRows: the rows of the step before, from among which later rows are paired.

Every block is a segment, sorted by the hash of its keys and by time, so that the rows of some keys
are found by binary search, and what that costs follows these rows. Small segments are merged, so
that there are few.

A row can be forgotten when no later row can be paired with it any more. `bound` is the time before
which no later row comes:

    WITHIN d       its first step lies more than d before the bound
    RECENT         another one of its key follows it, and not behind the bound
    CHRONICLE      it was used

Whole segments go when their last row can. Single ones go when segments are merged, when most are
too old or used, and when rows have become twice as many as were left the last time: then all
segments become one.
Spec: execution-model 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from penstock.kernel.aggregation.wid.overlay import repeat_ranges
from penstock.kernel.joins.keys import HASHED_BY
from penstock.kernel.joins.sequences.placing import Hashes, Index, Times, placed, untied
from penstock.kernel.joins.sequences.spec import SequenceSpec
from penstock.kernel.joins.sequences.state import SequenceState
from penstock.kernel.joins.sequences.used_rows import NUMBER, UsedRows
from penstock.kernel.segments import FEW, Mask, Segment
from penstock.model.sequences import SequenceMode
from penstock.model.timestamps import BEGINNING, END

#: The column that has the hash of a row's keys.
HASH = "__hash"
#: So many rows are not worth looking through for those that can be forgotten.
LITTLE = 4096


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """Rows in the order of `places`; `hashes` and `times` are in that order already."""

    rows: pl.DataFrame
    places: Index
    hashes: Hashes
    times: Times
    firsts: Times  # of the first step


class _Run:
    """A segment, and what is computed of it once."""

    def __init__(self, rows: pl.DataFrame, first: str) -> None:
        self.rows = rows
        self._first = first

    @cached_property
    def hashes(self) -> Hashes:
        return self.rows.get_column(HASH).to_numpy()

    @cached_property
    def firsts(self) -> Times:
        """The times of the first step."""
        return _ticks(self.rows, self._first)

    @cached_property
    def last(self) -> int:
        """The greatest of them."""
        return int(self.firsts.max())


class EarlierRows:
    """The store over a sequence's state."""

    def __init__(self, spec: SequenceSpec) -> None:
        self._spec = spec
        self._keys = spec.keys[0]
        self._on, self._first = spec.times[-2], spec.times[0]
        self._ties = spec.tie_break(0)
        self._named = spec.sides[0].named
        self._runs: dict[int, _Run] = {}
        self._used = UsedRows()
        self._uses_up = spec.mode.in_turn
        self._replaces = spec.mode is SequenceMode.RECENT and spec.only_keys
        self._left = 0  # rows when they were last looked through
        self._looked_at = BEGINNING  # the first time to keep when old ones were last counted

    # -- growing ------------------------------------------------------------------------------

    def add(self, state: SequenceState, rows: pl.DataFrame) -> None:
        """Store rows as they come."""
        rows = self._keys.without_null(self._named(rows)).drop_nulls(self._on)
        keep_from = self._keep_from(state)
        if keep_from > BEGINNING:
            rows = rows.filter(pl.col(self._first).to_physical() >= keep_from)
        if not rows.height:
            return
        if self._uses_up:
            numbers = np.arange(state.numbered, state.numbered + rows.height)
            rows = rows.with_columns(pl.Series(NUMBER, numbers))
            state.numbered += rows.height
        self._append(state, rows)

    def _append(self, state: SequenceState, rows: pl.DataFrame) -> None:
        hashes = self._keys.whole_hashes(rows)
        rows = rows.with_columns(pl.Series(HASH, hashes))
        state.earlier.append(rows[placed(hashes, _ticks(rows, self._on))])
        state.earlier.compact(lambda parts: self._merged(state, parts), FEW)

    # -- looking ------------------------------------------------------------------------------

    def of_keys(self, state: SequenceState, hashes: Hashes) -> PlacedRows | None:
        """The rows of these keys that can be paired; None: there are none."""
        self._hash_again(state)
        found = []
        for run in self._all_runs(state):
            start = np.searchsorted(run.hashes, hashes)
            counts = np.searchsorted(run.hashes, hashes, side="right") - start
            total = int(counts.sum())
            if total == run.rows.height:
                found.append(run.rows)
            elif total:
                found.append(run.rows[repeat_ranges(start, counts)])
        if not found:
            return None
        rows = found[0] if len(found) == 1 else pl.concat(found)
        if self._uses_up and state.used.segments:
            used = self._used.among(state.used, rows.get_column(NUMBER).to_numpy())
            rows = rows.filter(~used) if used.any() else rows
        return self._placed(rows) if rows.height else None

    def _placed(self, rows: pl.DataFrame) -> PlacedRows:
        hashes, times = rows.get_column(HASH).to_numpy(), _ticks(rows, self._on)
        places = untied(placed(hashes, times), hashes, times, rows, self._ties)
        times = times[places]
        firsts = times if self._first == self._on else _ticks(rows, self._first)[places]
        return PlacedRows(rows, places, hashes[places], times, firsts)

    def use(self, state: SequenceState, rows: pl.DataFrame) -> None:
        """These rows were used up."""
        self._used.add(state.used, rows.get_column(NUMBER).to_numpy())

    # -- forgetting ---------------------------------------------------------------------------

    def purge(self, state: SequenceState) -> None:
        """Forget what no later row can be paired with, as far as that is worth looking for it."""
        if not state.earlier.segments:
            return
        keep_from = self._keep_from(state)
        if keep_from > BEGINNING:
            runs = self._all_runs(state)
            kept = zip(state.earlier.segments, runs, strict=True)
            state.earlier.segments = [segment for segment, run in kept if run.last >= keep_from]
        rows = state.earlier.rows
        much_used = self._uses_up and state.used.rows > LITTLE + rows // 2
        if much_used or rows > 2 * self._left + LITTLE or self._mostly_old(state, keep_from):
            self._look_through(state)
        if not state.earlier.segments and state.used.segments:
            self._used.clear(state.used)

    def _mostly_old(self, state: SequenceState, keep_from: int) -> bool:
        """Whether most rows are too old; asked again when half the time of WITHIN has passed."""
        if keep_from <= BEGINNING or state.earlier.rows <= LITTLE:
            return False
        if keep_from < self._looked_at + (self._spec.within or 0) // 2:
            return False
        self._looked_at = keep_from
        old = sum(int((run.firsts < keep_from).sum()) for run in self._all_runs(state))
        return 2 * old > state.earlier.rows

    def _look_through(self, state: SequenceState) -> None:
        state.earlier.replace(self._merged(state, list(state.earlier)))
        self._left = state.earlier.rows
        if self._uses_up:
            self._used.clear(state.used)

    def forget_all(self, state: SequenceState) -> None:
        """No later row comes any more."""
        state.earlier.clear()
        self._used.clear(state.used)

    def _keep_from(self, state: SequenceState) -> int:
        """The first time of a first step to keep."""
        if self._spec.within is None or not BEGINNING < state.complete < END:
            return BEGINNING
        return state.complete - self._spec.within

    def _merged(self, state: SequenceState, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """The rows of several segments as one, without those that can be forgotten."""
        rows = pl.concat(parts, rechunk=True)
        if self._replaces:
            found = self._placed(rows)
            rows = rows[found.places]
            needed = ~self._replaced(rows, found, state.complete)
        else:
            rows = rows[placed(rows.get_column(HASH).to_numpy(), _ticks(rows, self._on))]
            needed = np.ones(rows.height, np.bool_)
        keep_from = self._keep_from(state)
        if keep_from > BEGINNING:
            needed &= _ticks(rows, self._first) >= keep_from
        if self._uses_up:
            needed &= ~self._used.among(state.used, rows.get_column(NUMBER).to_numpy())
        return rows if needed.all() else rows.filter(needed)

    def _replaced(self, rows: pl.DataFrame, found: PlacedRows, bound: int) -> Mask:
        """Which rows are followed by one of their key that is there for all rows to come."""
        replaced = np.zeros(rows.height, np.bool_)
        followed = (found.hashes[1:] == found.hashes[:-1]) & (found.times[1:] <= bound)
        # What began earlier is too old earlier: it does not take the place of what began later.
        followed &= found.firsts[1:] >= found.firsts[:-1]
        if followed.any():
            followed &= self._keys.same_as_before(rows)
        replaced[:-1] = followed
        return replaced

    # -- segments -----------------------------------------------------------------------------

    def _all_runs(self, state: SequenceState) -> list[_Run]:
        segments: list[Segment] = state.earlier.segments
        self._runs = {
            segment.id: self._runs.get(segment.id) or _Run(segment.rows, self._first)
            for segment in segments
        }
        return list(self._runs.values())

    def _hash_again(self, state: SequenceState) -> None:
        """Another version of Polars has kept this state: its hashes are not ours."""
        if state.hashed_by == HASHED_BY:
            return
        state.hashed_by = HASHED_BY
        stored = list(state.earlier)
        state.earlier.clear()
        for rows in stored:
            self._append(state, rows.drop(HASH))


def _ticks(rows: pl.DataFrame, column: str) -> Times:
    times: Times = rows.get_column(column).cast(pl.Int64).to_numpy()
    return times
