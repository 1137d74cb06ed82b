"""PairInputs: two inputs of a join, which rows are stored, and which of them have met a partner.

Rows meet the stored rows of the other side, and are stored unless all their partners have come
already. Outer, semi and anti joins ask besides which rows have met a partner (`unmatched`). A row
without one leaves when it could be purged, for then none can come any more; so bounds stay as they
are. A left row of a semi join leaves when its first partner comes, and is not stored if that is at
once.  Spec: window-queries 6.1, 6.2, Fig 7-1, 7-2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.keyed import KeyBounds
from penstock.kernel.joins.pairs import Pairing, Pairs
from penstock.kernel.joins.partners import Times as Points
from penstock.kernel.joins.purge import goes_at
from penstock.kernel.joins.reach import Reach
from penstock.kernel.joins.run import CODE
from penstock.kernel.joins.side import NAMES, Arrived, Side
from penstock.kernel.joins.spec import JoinSpec
from penstock.kernel.joins.unmatched import NOBODY, NUMBER, Unmatched
from penstock.kernel.progress.release import Need, Times, Waiting
from penstock.kernel.segments import Mask, SegmentTable
from penstock.model.joins import JoinKind


class PairInputs(Inputs):
    """The left and the right side of a join."""

    def __init__(self, spec: JoinSpec) -> None:
        self.names = NAMES
        self.on = [side.on for side in spec.sides]
        self.sides = (Side(spec, 0), Side(spec, 1))
        self.indexes = self.sides
        self.times = [side.on for side in self.sides]
        self.progressing = [0] if spec.kind.is_one_sided else [0, 1]
        self.reach = Reach(2, [((0, 1), spec.band)])
        self.keys = KeyBounds(spec, self)
        self.band = spec.band
        self._kind = spec.kind
        self._unmatched = [Unmatched(side.on, side.store) for side in self.sides]
        self.pairing = Pairing(spec, self.sides)

    def tables(self) -> dict[str, str]:
        told_apart = [side for side in (0, 1) if self._kind.tells_apart(side)]
        return super().tables() | {f"{NAMES[side]}_met": self.times[side] for side in told_apart}

    @property
    def found(self) -> list[str]:
        return [name for side in self.sides for name in side.names]

    def columns(self, port: int) -> list[str]:
        return self.sides[port].names

    def stored(self, side: int) -> SegmentTable:
        return self.state.table(NAMES[side])

    def _met(self, side: int) -> SegmentTable:
        """Numbers of stored rows that came without a partner and have met one since."""
        return self.state.table(f"{NAMES[side]}_met")

    # -- rows ---------------------------------------------------------------------------------

    def join(self, port: int, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
        side, named = self.sides[port], self.sides[port].named(rows)
        rows = side.can_match(named)
        if rows.height < named.height:
            yield from self._alone(port, side.cannot_match(named))
        if not rows.height:
            return
        arrived = side.arrive(rows)
        pairs = self.pairing.find(port, arrived, self.stored(1 - port))
        if pairs is not None:
            yield from self._matched(port, arrived, pairs)
        yield from self._store(port, arrived, pairs)

    def _matched(self, port: int, arrived: Arrived, pairs: Pairs) -> Iterator[pl.DataFrame]:
        """What comes out because it has matched; stored rows that were among it are noted."""
        other, first = 1 - port, None
        if self._kind.tells_apart(other):
            times = pairs.rows.get_column(self.times[other]).to_numpy()
            first = self._unmatched[other].meet(self._met(other), pairs.numbers, times)
        if not self._kind.is_one_sided:
            yield pairs.rows
        elif self._kind is JoinKind.SEMI:
            names = self.sides[0].names
            if port == 0:
                yield arrived.rows.select(names)[np.unique(pairs.new)]
            elif first is not None:
                yield pairs.rows.select(names)[first]

    def _store(self, port: int, arrived: Arrived, pairs: Pairs | None) -> Iterator[pl.DataFrame]:
        """Keep the rows that can still find partners."""
        rows, times = arrived.rows, arrived.times
        needed = times >= self.keep_from(port)
        if self.state.keyed[1 - port] and not self.retained:
            over = self.keys.over(port, rows)
            self._forget(port, times[over])
            needed &= ~over
        if self._kind.tells_apart(port):
            lone = np.ones(len(times), np.bool_)
            if pairs is not None:
                lone[pairs.new] = False
            rows = self._numbered(rows, lone & needed)
            if not needed.all():
                yield from self._alone(port, rows.filter(lone & ~needed))
            if self._kind.is_one_sided:
                needed &= lone
        if not needed.all():
            rows, times = rows.filter(needed), times[needed]
        self.sides[port].store.add(self.stored(port), rows, times)

    def _numbered(self, rows: pl.DataFrame, lone: Mask) -> pl.DataFrame:
        """The rows, of which the lone ones get a number."""
        numbers = np.where(lone, self.state.numbered + np.cumsum(lone), NOBODY)
        self.state.numbered += int(lone.sum())
        return rows.with_columns(pl.Series(NUMBER, numbers))

    def _alone(self, port: int, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Rows that have no partner, if the kind wants them."""
        if rows.height and self._kind.keeps_alone(port):
            yield self.pairing.alone(port, rows)

    # -- the same in parts --------------------------------------------------------------------

    def can_match(self, port: int, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows under the join's names, without those that equal nothing."""
        side = self.sides[port]
        return side.can_match(side.named(rows))

    def keep(self, port: int, rows: pl.DataFrame) -> None:
        """Store rows that can match, without looking for partners."""
        self.sides[port].keep(self.state, rows)

    def find(self, port: int, rows: pl.DataFrame) -> pl.DataFrame | None:
        """The pairs of rows that can match with what is stored of the other side."""
        arrived = self.sides[port].arrive(rows)
        pairs = self.pairing.find(port, arrived, self.stored(1 - port))
        return None if pairs is None else pairs.rows

    def put_in(self, port: int, rows: pl.DataFrame) -> None:
        self.keep(port, self.can_match(port, rows))

    def results(self) -> Iterator[pl.DataFrame]:
        fewest = min((0, 1), key=lambda side: self.stored(side).rows)
        for rows in list(self.stored(fewest)):
            pairs = self.find(fewest, rows.drop(CODE))
            if pairs is not None:
                yield pairs

    # -- forgetting ---------------------------------------------------------------------------

    def purge(self, port: int, keep_from: int) -> Iterator[pl.DataFrame]:
        if self._kind.keeps_alone(port):
            since = self.state.left_below[port]
            stored, met = self.stored(port), self._met(port)
            for alone in self._unmatched[port].leave(stored, met, since, keep_from):
                yield self.pairing.alone(port, alone)
            self.state.left_below[port] = max(since, keep_from)
        if self._kind.tells_apart(port):
            self._unmatched[port].forget(self._met(port), keep_from)
        super().purge(port, keep_from)

    def purge_where(
        self, port: int, over: Callable[[pl.DataFrame], Mask], *, much: int | None
    ) -> Iterator[pl.DataFrame] | None:
        """Forget rows that are over before their time; None: more than `much` would be looked at
        and nobody waits for it."""
        if self.retained:
            return iter(())  # bounds on keys of this join say nothing of other inputs
        told_apart = self._kind.tells_apart(port)
        if not told_apart and much is not None and self.stored(port).rows > much:
            return None
        forgotten = self.stored(port).take_where(over)
        for rows in forgotten:
            self._forget(port, rows.get_column(self.times[port]).cast(pl.Int64).to_numpy())
        if not told_apart or not forgotten:
            return iter(())
        met, since = self._met(port), self.state.left_below[port]
        alone = self._unmatched[port].alone(pl.concat(forgotten), met, since)
        return self._alone(port, alone)

    def _forget(self, port: int, times: Points) -> None:
        """Note that rows of these times are not there any more."""
        if len(times):
            known = self.state.forgotten
            known[port] = max(known[port], int(times.max()) + 1)

    # -- what waits ---------------------------------------------------------------------------

    def held(self) -> Iterable[Waiting]:
        """Rows that may turn out to have no partner; others wait only for those to come."""
        for side, unmatched in enumerate(self._unmatched):
            if self._kind.keeps_alone(side):
                since = self.state.left_below[side]
                first = unmatched.first(self.stored(side), self._met(side), since)
                if first is not None:
                    time, certain = first
                    yield replace(self._leaving_alone(side, time), certain=certain)

    def passes(self, port: int, times: Times) -> Iterator[Waiting]:
        """It may find a partner at once; which one, rows alone can tell."""
        time = times[self.on[port]]
        if self._kind is not JoinKind.ANTI:
            yield from super().passes(port, times)
        if self._kind.keeps_alone(port):
            if time is None:
                yield Waiting((), self._only(port, None))
            else:
                yield replace(self._leaving_alone(port, time), certain=False)

    def _leaving_alone(self, side: int, time: int) -> Waiting:
        need = Need(1 - side, self.on[1 - side], goes_at(self.band, side, time + 1))
        return Waiting((need,), self._only(side, time))

    def _only(self, side: int, time: int | None) -> Times:
        """The times of a row without a partner."""
        return {self.times[each]: time if each == side else None for each in self.progressing}
