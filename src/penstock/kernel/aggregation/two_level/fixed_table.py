"""FixedTable: a hash table of partial aggregates that never grows.

A slot holds the partials of one group and one range of windows. Who comes to a slot that holds
another entry throws it out; the resident leaves as it is, half done, and whoever rolls up behind
the table puts the pieces together. A block is put in at once: equal entries are merged first, and
in each slot stays the one that came last, so row by row it is the printed algorithm.

What is kept is a log: an entry that is put in, or updated, is appended, and of each slot the newest
counts. So a step costs what is new, flushing takes from the front those that were least recently
updated, and what a slot has lost is dropped when it makes up half of the log.
Spec: window-queries 7.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Ids, concat, frame, take
from penstock.kernel.aggregates.keys import Groups, code_integers
from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.aggregation.wid.bucket import WID_END, WID_START
from penstock.kernel.segments import Mask, Segment, SegmentTable, table
from penstock.kernel.state import State
from penstock.model.timestamps import END

#: Entries that the log may hold beyond twice those that count.
SPARE = 64
NOBODY = -1


@dataclass
class FixedTableState(State):
    """The log, and how many entries have been dropped from its front."""

    entries: SegmentTable = table(WID_START)
    dropped: int = 0


class FixedTable:
    """`size` slots for the partials of an AggregateSet."""

    def __init__(self, state: FixedTableState, aggregates: AggregateSet, size: int) -> None:
        self.size = size
        self._state = state
        self.aggregates = aggregates
        self._newest: Segment | None = None  # of the log that the slots were read off
        self._owner: Ids = np.full(size, NOBODY)  # per slot: the number of its entry
        self._start: Ids = np.full(size, END)  # and the first window of it

    # -- rows in, entries out -----------------------------------------------------------------

    def put(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Add prepared rows that carry ranges of wids; gives what they throw out."""
        self._follow_state()
        columns = {name: rows.get_column(name) for name in self._identity}
        cells = self._alike(columns)
        came = np.empty(cells.size, dtype=np.int64)
        came[cells.ids] = np.arange(rows.height)  # the last row of each counts
        columns = take(columns, cells.members) | self.aggregates.start(rows, cells)
        slots = self._slots(columns)
        residents = self._residents(slots)
        if residents is not None:
            columns = concat([residents, columns], columns)
            came = np.concatenate((np.full(residents.height, -1), came))
            columns, came = self._merged(columns, came)
            slots = self._slots(columns)
        winner = np.full(self.size, NOBODY)
        in_turn = np.argsort(came, kind="stable")
        winner[slots[in_turn]] = in_turn  # of several, the last one stays
        stays = winner[slots] == np.arange(len(slots))
        self._append(frame(take(columns, np.flatnonzero(stays))), slots[stays])
        return None if stays.all() else frame(take(columns, np.flatnonzero(~stays)))

    @property
    def _identity(self) -> list[str]:
        return [WID_START, WID_END, *self.aggregates.groups]

    def _residents(self, slots: Ids) -> pl.DataFrame | None:
        """The entries of these slots, each once."""
        owners = np.unique(self._owner[slots])
        owners = owners[owners != NOBODY] - self._state.dropped
        return self._log()[pl.Series(owners.astype(np.uint32))] if len(owners) else None

    def _merged(self, columns: dict[str, pl.Series], came: Ids) -> tuple[dict[str, pl.Series], Ids]:
        alike = self._alike(columns)
        if alike.size == len(came):
            return columns, came
        last = np.full(alike.size, -1)
        np.maximum.at(last, alike.ids, came)
        identity = take({name: columns[name] for name in self._identity}, alike.members)
        return identity | self.aggregates.merge(columns, alike), last

    # -- flushing -----------------------------------------------------------------------------

    def oldest(self) -> int:
        """The first window that some entry holds; END: there is none."""
        self._follow_state()
        return int(self._start.min())

    def flush_some(self, below: int, most: int) -> pl.DataFrame | None:
        """Take out up to so many entries that begin below, the least recently updated first."""
        if self.oldest() >= below:
            return None
        log = self._log().slice(0, 2 * most + SPARE)
        slots, numbers = self._slots(log), self._state.dropped + np.arange(log.height)
        counts: Mask = self._owner[slots] == numbers
        # Behind one that is not to go yet nothing leaves: the log is dropped from its front.
        stop = counts & (log.get_column(WID_START).to_numpy() >= below)
        stop |= np.cumsum(counts) > most
        end = int(np.argmax(stop)) if stop.any() else log.height
        gone = np.flatnonzero(counts[:end])
        self._owner[slots[gone]], self._start[slots[gone]] = NOBODY, END
        self._state.dropped += end
        self._state.entries.drop_first(end)
        self._newest = self._last
        return log[pl.Series(gone.astype(np.uint32))] if len(gone) else None

    def flush_all(self, below: int) -> pl.DataFrame | None:
        """Take out every entry that begins below."""
        if self.oldest() >= below:
            return None
        return self.flush_where(pl.col(WID_START) < below)

    def flush_where(self, condition: pl.Expr) -> pl.DataFrame | None:
        """Take out every entry for which a condition holds."""
        self._follow_state()
        counting = self._counting()
        going = counting.select(condition.alias("x"))["x"]
        if not going.any():
            return None
        self._rewrite(counting.filter(~going))
        return counting.filter(going)

    # -- the log ------------------------------------------------------------------------------

    def _follow_state(self) -> None:
        """Read the slots off the log again if the state was restored meanwhile."""
        if self._last is not self._newest:
            self._read_slots()

    def _read_slots(self) -> None:
        self._owner.fill(NOBODY)
        self._start.fill(END)
        if self._state.entries.segments:
            log = self._log()
            self._hold(log, self._slots(log), self._state.dropped)
        self._newest = self._last

    def _hold(self, entries: pl.DataFrame, slots: Ids, first: int) -> None:
        """Let slots hold entries, which are numbered from the first on."""
        self._owner[slots] = first + np.arange(entries.height)
        self._start[slots] = entries.get_column(WID_START).to_numpy()

    @property
    def _last(self) -> Segment | None:
        """The youngest segment of the log."""
        return self._state.entries.segments[-1] if self._state.entries.segments else None

    def _log(self) -> pl.DataFrame:
        return pl.concat(list(self._state.entries))

    def _counting(self) -> pl.DataFrame:
        """The entries that slots hold, the least recently updated first."""
        numbers = np.sort(self._owner[self._owner != NOBODY]) - self._state.dropped
        return self._log()[pl.Series(numbers.astype(np.uint32))]

    def _append(self, entries: pl.DataFrame, slots: Ids) -> None:
        state = self._state
        first = state.dropped + state.entries.rows
        state.entries.append(entries, pl.concat)
        self._hold(entries, slots, first)
        held = int((self._owner != NOBODY).sum())
        if state.entries.rows > 2 * held + SPARE:
            self._rewrite(self._counting())
        self._newest = self._last

    def _rewrite(self, entries: pl.DataFrame) -> None:
        """A log of these entries only."""
        self._state.entries.replace(entries)
        self._state.dropped = 0
        self._read_slots()

    def _slots(self, columns: dict[str, pl.Series] | pl.DataFrame) -> Ids:
        """Where entries belong: a group is in the same slot in every window."""
        groups = [columns[name] for name in self.aggregates.groups]
        if not groups:
            return np.zeros(len(columns[WID_START]), dtype=np.int64)
        keys = pl.DataFrame([key.alias(str(n)) for n, key in enumerate(groups)])
        slots: Ids = (keys.hash_rows().to_numpy() % np.uint64(self.size)).astype(np.int64)
        return slots

    def _alike(self, columns: dict[str, pl.Series]) -> Groups:
        """Entries of one group and one range of windows together."""
        start, stop = columns[WID_START].to_numpy(), columns[WID_END].to_numpy()
        return self.aggregates.cells(
            columns, code_integers(stop), code_integers(stop - start), leading=True
        )
