"""SequenceJoin: rows of a step, each with rows of the step before it that are not later.

    RECENT         the latest one at or before it
    CHRONICLE      the earliest one that was not used; both are used up
    UNRESTRICTED   all of them

A row of the last step may come before the one that precedes it in time, so it waits until the bound
of the other input has passed it: then nothing at or before it can come there. Where rows are used
up they take their turns in the order of time, so the bound of its own input must have passed it as
well. Rows that are let out together leave in the order of time.

The bound on the last step's time is the lesser one of both inputs; with WITHIN, the times of all
steps before it lie at most that far below.  Spec: execution-model 4, 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.joins.sequences.earlier_rows import EarlierRows, PlacedRows
from penstock.kernel.joins.sequences.pairing import NOBODY, chronicle, recent, unrestricted
from penstock.kernel.joins.sequences.pairing_where import (
    chronicle_where,
    recent_where,
    unrestricted_where,
)
from penstock.kernel.joins.sequences.placing import Hashes, Index, Times, placed, stretches, untied
from penstock.kernel.joins.sequences.spec import SequenceSpec
from penstock.kernel.joins.sequences.state import SequenceState
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.grain import UNUSED, Grain
from penstock.kernel.progress.release import Need, Needs, Waiting
from penstock.kernel.progress.release import Times as RowTimes
from penstock.kernel.segments import Mask, SegmentTable
from penstock.model.punctuation import Punctuation
from penstock.model.sequences import SequenceMode
from penstock.model.timestamps import BEGINNING, END

Pairs = tuple[Index, Index]
"""Positions of later rows in the order of time, and places of earlier ones."""

#: So many rows that wait are tried, to tell which of them is certain to come out.
TRIED = 4096


class SequenceJoin(Operator):
    """A step behind another."""

    ports = 2
    state: SequenceState

    def __init__(self, spec: SequenceSpec) -> None:
        super().__init__()
        self.spec = spec
        self.state = SequenceState(SegmentTable(on=spec.times[-2]), SegmentTable(on=spec.times[-1]))
        self._earlier = EarlierRows(spec)
        self._keys = spec.keys[1]
        self._on = [side.on for side in spec.sides]
        self._time = spec.times[-1]
        self._named = spec.sides[1].named
        self._names = [side.names for side in spec.sides]
        self._in_turn = spec.mode.in_turn
        self._ties = spec.tie_break(1)

    @property
    def name(self) -> str:
        return f"{self.spec.mode.value.title()}Sequence"

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        return None if on in self._on else UNUSED

    # -- rows ---------------------------------------------------------------------------------

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        if port == 0:
            self._earlier.add(self.state, block.rows)
            return
        rows = self._keys.without_null(self._named(block.rows)).drop_nulls(self._time)
        if not self._in_turn and self.state.bounds[0] > BEGINNING:
            over = pl.col(self._time).to_physical() < self.state.bounds[0]
            self._put(rows.filter(over).sort(self._time, maintain_order=True), out)
            rows = rows.filter(~over)
        self.state.waiting.append_sorted(rows)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        state = self.state
        if punctuation.on != self._on[port] or punctuation.bound <= state.bounds[port]:
            return
        before = state.complete
        state.bounds[port] = punctuation.bound
        rows = state.waiting.take_in_order(state.complete if self._in_turn else state.bounds[0])
        if rows is not None:
            self._put(rows, out)
        if state.bounds[1] >= END and not state.waiting.segments:
            self._earlier.forget_all(state)
        if state.complete > before:
            self._earlier.purge(state)
            self._send_bounds(out)

    def _send_bounds(self, out: Output) -> None:
        bound = self.state.complete
        out.punctuation(Punctuation(self._time, bound))
        if self.spec.within is not None:
            before = bound - self.spec.within if bound < END else END
            for time in self.spec.times[:-1]:
                out.punctuation(Punctuation(time, before))

    # -- pairs --------------------------------------------------------------------------------

    def _put(self, rows: pl.DataFrame, out: Output) -> None:
        """Pair later rows, which are in the order of time and have had their turn."""
        for found, before in self._paired(rows):
            if self._in_turn:
                self._earlier.use(self.state, before)
            out.batch(Block(found))

    def _paired(self, rows: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
        """Results with these later rows, and the earlier ones that are in them."""
        if not rows.height or not self.state.earlier.segments:
            return
        hashes, times = self._keys.whole_hashes(rows), _ticks(rows, self._time)
        order = placed(hashes, times)
        if self._in_turn:
            order = untied(order, hashes, times, rows, self._ties)
        hashes, times = hashes[order], times[order]
        begins = np.concatenate(([True], hashes[1:] != hashes[:-1]))
        earlier = self._earlier.of_keys(self.state, hashes[begins])
        if earlier is None:
            return
        start, stop, exact = self._stretches(earlier, hashes, times)
        if exact and self.spec.only_keys:
            pairs = self._by_rule(order, start, stop, begins)
            found = self._side_by_side(rows, earlier, pairs)
            if self.spec.match.holds(found[0]) is None:
                yield from (found,) if found[0].height else ()
                return
            # Keys that are not equal have equal hashes: so every pair is looked at.
        for pairs in self._by_trying(rows, earlier, order, start, stop):
            found = self._side_by_side(rows, earlier, pairs)
            if found[0].height:
                yield found

    def _stretches(
        self, earlier: PlacedRows, hashes: Hashes, times: Times
    ) -> tuple[Index, Index, bool]:
        """Where the earlier rows of each later one lie, and whether WITHIN holds for all of these.

        It is measured from the first step: where that does not rise with the step before, the
        stretch has more than it should.
        """
        of = (earlier.hashes, earlier.times)
        if self.spec.within is None:
            return *stretches(of, (hashes, times)), True
        since = times - self.spec.within
        start, stop = stretches(of, (hashes, times), since)
        if earlier.firsts is earlier.times:
            return start, stop, True
        same = earlier.hashes[1:] == earlier.hashes[:-1]
        if (same & (earlier.firsts[1:] < earlier.firsts[:-1])).any():
            return start, stop, False
        start, _ = stretches((earlier.hashes, earlier.firsts), (hashes, times), since)
        return np.minimum(start, stop), stop, True

    def _by_rule(self, order: Index, start: Index, stop: Index, begins: Mask) -> Pairs:
        """Who is paired with whom, where keys and times alone tell."""
        match self.spec.mode:
            case SequenceMode.CHRONICLE:
                return _in_order_of_time(order, chronicle(start, stop, begins))
            case SequenceMode.RECENT:
                return _in_order_of_time(order, recent(start, stop))
        return unrestricted(_as_they_came(order, start), _as_they_came(order, stop))

    def _by_trying(
        self, rows: pl.DataFrame, earlier: PlacedRows, order: Index, start: Index, stop: Index
    ) -> Iterator[Pairs]:
        """Who is paired with whom, where each pair has to be looked at."""
        if self.spec.mode is SequenceMode.UNRESTRICTED:
            start, stop = _as_they_came(order, start), _as_they_came(order, stop)
            order = np.arange(len(order))

        def holds(mine: Index, theirs: Index) -> Mask:
            pairs, _ = self._side_by_side(rows, earlier, (order[mine], theirs))
            matching = self.spec.match.holds(pairs)
            found = np.ones(len(mine), np.bool_) if matching is None else matching.to_numpy()
            if self.spec.within is None:
                return found
            times = _ticks(rows, self._time)[order[mine]]
            near: Mask = found & (earlier.firsts[theirs] >= times - self.spec.within)
            return near

        match self.spec.mode:
            case SequenceMode.RECENT:
                yield _in_order_of_time(order, recent_where(start, stop, holds))
            case SequenceMode.CHRONICLE:
                yield _in_order_of_time(order, chronicle_where(start, stop, holds))
            case SequenceMode.UNRESTRICTED:
                yield from unrestricted_where(start, stop, holds)

    def _side_by_side(
        self, rows: pl.DataFrame, earlier: PlacedRows, pairs: Pairs
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Pairs as results have them, and the earlier rows among them as they are stored."""
        mine, theirs = pairs
        before = earlier.rows[earlier.places[theirs]]
        left = before.select(self._names[0])
        return left.hstack(rows.select(self._names[1])[mine]), before

    # -- what it waits for --------------------------------------------------------------------

    def waits(self, inputs: Sequence[Cursor]) -> bool:
        return bool(self.state.waiting.segments)

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        first = self.state.waiting.lowest()
        if first is None:
            return
        certain = self._first_certain()
        if certain != first:
            yield self._waiting(first, certain=False)
        if certain is not None:
            yield self._waiting(certain, certain=True)

    def _first_certain(self) -> int | None:
        """The time of the first row that waits and has one to be paired with already."""
        waiting = pl.concat([rows.head(TRIED) for rows in self.state.waiting])
        waiting = waiting.sort(self._time, maintain_order=True).head(TRIED)
        found = (int(_ticks(rows, self._time).min()) for rows, _ in self._paired(waiting))
        return min(found, default=None)

    def passes(self, port: int, times: RowTimes) -> Iterable[Waiting]:
        time = times[self._on[port]]
        if time is not None:
            yield self._waiting(time, certain=False)

    def _waiting(self, time: int, *, certain: bool) -> Waiting:
        """A row of the last step of that time."""
        ports = (0, 1) if self._in_turn else (0,)
        needs = tuple(Need(port, self._on[port], time + 1) for port in ports)
        least = {self._time: time}
        if self.spec.within is not None:
            least |= dict.fromkeys(self.spec.times[:-1], time - self.spec.within)
        return Waiting(needs, least, certain)

    def needed(self, on: str, bound: int) -> Needs | None:
        if on != self._time:
            if on not in self.spec.times or self.spec.within is None:
                return None
            bound = min(bound + self.spec.within, END)
        return Needs(tuple(Need(port, self._on[port], bound) for port in (0, 1)))

    def known(self, port: int, on: str) -> int:
        return self.state.bounds[port] if on == self._on[port] else BEGINNING


def _as_they_came(order: Index, values: Index) -> Index:
    """Values in the order of keys, put in that of the rows; `order` tells where each came."""
    came = np.empty_like(values)
    came[order] = values
    return came


def _in_order_of_time(order: Index, found: Index) -> Pairs:
    """Pairs of rows that have one each: positions of later rows as they came, and places."""
    places = _as_they_came(order, found)
    mine = np.flatnonzero(places != NOBODY)
    return mine, places[mine]


def _ticks(rows: pl.DataFrame, column: str) -> Times:
    times: Times = rows.get_column(column).cast(pl.Int64).to_numpy()
    return times
