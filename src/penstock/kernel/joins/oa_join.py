"""OA-Join: a window join that asks for no order and gives none.

Rows meet the stored rows of the other side when they come, and the pairs go out at once, each with
both timestamps. A row is stored unless all its partners have come already. A promise on one side
purges the other's store, and becomes a promise on each of the timestamps in the results: a result
needs a row of either side, new or still stored. Where somebody groups by both, it also becomes a
promise about the pair (`joint`).  Spec: window-queries 6.1, 6.2, 6.4, Fig 7-1, 7-2.

A promise about rows of one key does the same for that key alone (`keyed`).

Outer, semi and anti joins ask besides which rows have met a partner (`unmatched`). A row without
one leaves when it could be purged, for then none can come any more; so promises stay as they are.
A left row of a semi join leaves when its first partner comes, and is not stored if that is at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.joins.joint import joint
from penstock.kernel.joins.keyed import KeyPatterns
from penstock.kernel.joins.keys import HASHED_BY
from penstock.kernel.joins.pairs import Pairing, Pairs
from penstock.kernel.joins.purge import goes_at, keep_from, output_bound
from penstock.kernel.joins.run import CODE
from penstock.kernel.joins.side import Arrived, Side
from penstock.kernel.joins.spec import JoinSpec
from penstock.kernel.joins.unmatched import NOBODY, NUMBER, Unmatched
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.patterns import below
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.segments import Mask, Table, table
from penstock.kernel.state import State
from penstock.model.joins import JoinKind
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING

#: So many promises about keys are waited for before more stored rows than that are looked through.
SWEEP, LITTLE = 32, 4096


@dataclass
class OAJoinState(State):
    """Stored rows of both sides; what each input has promised, and what was promised on.

    Rows are numbered where it must be known which of them have met a partner.
    """

    left: Table = table()
    right: Table = table()
    left_waiting: Table = table()
    right_waiting: Table = table()
    left_met: Table = table()
    right_met: Table = table()
    numbered: int = 0
    bounds: list[int] = field(default_factory=lambda: [BEGINNING, BEGINNING])
    sent: list[int] = field(default_factory=lambda: [BEGINNING, BEGINNING])
    # the same about single keys, by key pattern
    keyed: list[dict[str, int]] = field(default_factory=lambda: [{}, {}])
    keyed_sent: list[dict[str, int]] = field(default_factory=lambda: [{}, {}])
    hashed_by: str = HASHED_BY

    def stored(self, side: int) -> Table:
        return self.right if side else self.left

    def waiting(self, side: int) -> Table:
        return self.right_waiting if side else self.left_waiting

    def met(self, side: int) -> Table:
        return self.right_met if side else self.left_met


class OAJoin(Operator):
    """Joins rows within a band, whatever order they come in."""

    state: OAJoinState
    state_type: type[OAJoinState] = OAJoinState
    ports = 2
    #: Whether a promise about a key forgets and lets out rows of that key.
    knows_keys = True
    #: Whether somebody behind it has a use for promises about the pair of timestamps.
    promises_pairs = False

    def __init__(self, spec: JoinSpec) -> None:
        super().__init__()
        self.state = self.state_type()
        self._spec = spec
        self._kind = spec.kind
        self._sides = (Side(spec, 0), Side(spec, 1))
        self._unmatched = tuple(Unmatched(side.on) for side in self._sides)
        self._pairing = Pairing(spec, self._sides)
        self._keys = KeyPatterns(spec)
        for side in self._sides:
            number = side.number
            for of in (self.state.stored, self.state.waiting, self.state.met):
                of(number).on = side.on
        self._unswept = [0, 0]  # promises about keys of which stored rows do not know yet

    def useful(self, wanted: frozenset[str] | None) -> frozenset[str]:
        return frozenset(side.on for side in self._spec.sides)

    # -- rows ---------------------------------------------------------------------------------

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        if self.state.hashed_by != HASHED_BY:
            self._hash_again()
        side, named = self._sides[port], self._sides[port].named(block.rows)
        rows = side.can_match(named)
        if rows.height < named.height:
            self._alone(port, side.cannot_match(named), out)
        if not rows.height:
            return
        arrived = side.arrive(rows)
        pairs = self._pairing.find(port, arrived, self.state.stored(1 - port))
        if pairs is not None:
            self._meet(port, arrived, pairs, out)
        self._store(port, arrived, pairs, out)

    def _meet(self, port: int, arrived: Arrived, pairs: Pairs, out: Output) -> None:
        """Put out what has matched, and note which stored rows were among it."""
        other, first = 1 - port, None
        if self._kind.tells_apart(other):
            times = pairs.rows.get_column(self._sides[other].on).to_numpy()
            met = self.state.met(other)
            first = self._unmatched[other].meet(met, pairs.numbers, times)
        if not self._kind.is_one_sided:
            out.batch(Block(pairs.rows))
        elif self._kind is JoinKind.SEMI:
            names = self._sides[0].names
            if port == 0:
                out.batch(Block(arrived.rows.select(names)[np.unique(pairs.new)]))
            elif first is not None:
                out.batch(Block(pairs.rows.select(names)[first]))

    def _store(self, port: int, arrived: Arrived, pairs: Pairs | None, out: Output) -> None:
        """Keep the rows that can still find partners."""
        first = keep_from(self._spec.band, port, self.state.bounds[1 - port])
        rows, times = arrived.rows, arrived.times
        needed = times >= first
        if self.state.keyed[1 - port]:
            needed &= ~self._over_by_key(port, rows)
        if self._kind.tells_apart(port):
            lone = np.ones(len(arrived), np.bool_)
            if pairs is not None:
                lone[pairs.new] = False
            rows = self._number(port, rows, lone & needed)
            if not needed.all():
                self._alone(port, rows.filter(lone & ~needed), out)
            if self._kind.is_one_sided:
                needed &= lone
        if not needed.all():
            rows, times = rows.filter(needed), times[needed]
        self._sides[port].store.add(self.state.stored(port), rows, times)

    def _number(
        self, port: int, rows: pl.DataFrame, lone: np.ndarray[tuple[int], np.dtype[np.bool_]]
    ) -> pl.DataFrame:
        """Number the lone rows, and let them wait where they come out in the end."""
        numbers = np.where(lone, self.state.numbered + np.cumsum(lone), NOBODY)
        self.state.numbered += int(lone.sum())
        rows = rows.with_columns(pl.Series(NUMBER, numbers))
        if self._kind.keeps_alone(port):
            waiting = rows.filter(lone).drop(CODE)
            self._unmatched[port].wait(self.state.waiting(port), waiting)
        return rows

    def _alone(self, port: int, rows: pl.DataFrame, out: Output) -> None:
        """Put out rows that have no partner, if the kind wants them."""
        if self._kind.keeps_alone(port) and rows.height:
            out.batch(Block(self._pairing.alone(port, rows)))

    def _hash_again(self) -> None:
        """Another version of Polars has kept this state: its hashes are not ours."""
        for side in self._sides:
            table = self.state.stored(side.number)
            stored = list(table)
            table.clear()
            for rows in stored:
                arrived = side.arrive(rows.drop(CODE))
                side.store.add(table, arrived.rows, arrived.times)
        self.state.hashed_by = HASHED_BY

    # -- promises -----------------------------------------------------------------------------

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        bounds, band = self.state.bounds, self._spec.band
        if punctuation.on != self._spec.sides[port].on or punctuation.bound <= bounds[port]:
            return
        bounds[port] = punctuation.bound
        other = 1 - port
        self._purge(other, keep_from(band, other, punctuation.bound), out)
        for side in self._promised:
            number = side.number
            bound = output_bound(band, number, bounds[number], bounds[1 - number])
            if bound > self.state.sent[number]:
                self.state.sent[number] = bound
                out.punctuation(Punctuation(side.on, bound))
        if any(self.state.keyed):
            self._promise_keys(port, out)
        if self.promises_pairs:
            on = (self._sides[0].on, self._sides[1].on)
            for promise in joint(band, on, bounds, self.state.sent):
                out.punctuation(promise)

    def on_pattern(self, port: int, punctuation: Punctuation, out: Output) -> None:
        """A promise about some keys: rows of these keys on the other side can go earlier."""
        key = self._keys.key(port, punctuation.where)
        if not self.knows_keys or key is None or punctuation.on != self._spec.sides[port].on:
            return
        if punctuation.bound <= self._bound(port, key):
            return
        self.state.keyed[port][key] = punctuation.bound
        self._purge_keys(1 - port, out)
        self._promise_key(key, out)

    def _bound(self, side: int, key: str) -> int:
        """What an input has promised about a key."""
        return max(self.state.bounds[side], self.state.keyed[side].get(key, BEGINNING))

    def _promise_keys(self, port: int, out: Output) -> None:
        """An input has promised something about all rows, and so about those of each key."""
        state = self.state
        for side, (kept, least) in enumerate(zip(state.keyed, state.bounds, strict=True)):
            state.keyed[side] = {key: bound for key, bound in kept.items() if bound > least}
        for key in state.keyed[1 - port]:
            self._promise_key(key, out)
        for side, (said, least) in enumerate(zip(state.keyed_sent, state.sent, strict=True)):
            state.keyed_sent[side] = {key: bound for key, bound in said.items() if bound > least}

    def _promise_key(self, key: str, out: Output) -> None:
        band, state = self._spec.band, self.state
        for side in self._promised:
            number = side.number
            bound = output_bound(
                band, number, self._bound(number, key), self._bound(1 - number, key)
            )
            said = state.keyed_sent[number]
            if bound > max(state.sent[number], said.get(key, BEGINNING)):
                said[key] = bound
                # Results may go on with the key's column of either side.
                for named in self._promised:
                    where = self._keys.where(named.number, key)
                    out.punctuation(Punctuation(side.on, bound, where))

    def _over_by_key(self, side: int, rows: pl.DataFrame) -> Mask:
        """Whether rows of a side can find no partner any more, by promises about their keys."""
        keyed = self.state.keyed[1 - side]
        first = {key: keep_from(self._spec.band, side, bound) for key, bound in keyed.items()}
        over = below(rows, self._sides[side].on, self._keys.promises(side, first))
        found: Mask = over.to_numpy()
        return found

    def _purge_keys(self, side: int, out: Output) -> None:
        """Forget rows of a side by what is promised about their keys.

        That is looking through all that is stored; where nobody waits for it and much is stored,
        several promises are waited for.
        """
        state, stored = self.state, self.state.stored(side)
        self._unswept[side] += 1
        if self._kind.tells_apart(side):
            alone = self._unmatched[side].leave_where(
                state.waiting(side), state.met(side), lambda rows: self._over_by_key(side, rows)
            )
            if alone is not None:
                self._alone(side, alone, out)
        elif self._unswept[side] < SWEEP and stored.rows > LITTLE:
            return
        self._unswept[side] = 0
        stored.take_where(lambda rows: self._over_by_key(side, rows))

    @property
    def _promised(self) -> tuple[Side, ...]:
        return self._sides[:1] if self._kind.is_one_sided else self._sides

    # -- what it waits for --------------------------------------------------------------------

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        """Rows that may turn out to have no partner; others wait only for those to come."""
        for side, unmatched in enumerate(self._unmatched):
            if self._kind.keeps_alone(side):
                first = unmatched.first(self.state.waiting(side), self.state.met(side))
                if first is not None:
                    time, certain = first
                    yield replace(self._leaving_alone(side, time), certain=certain)

    def _leaving_alone(self, side: int, time: int) -> Waiting:
        on = self._spec.sides[1 - side].on
        need = Need(1 - side, on, goes_at(self._spec.band, side, time + 1))
        return Waiting((need,), self._times({side: time}))

    def _times(self, known: dict[int, int | None]) -> Times:
        return {side.on: known.get(side.number) for side in self._promised}

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        """It may find a partner at once; which one, rows alone can tell."""
        time = times[self._spec.sides[port].on]
        if time is None:
            if self._kind.keeps_alone(port):
                yield Waiting((), self._times({port: None}))
            return
        if self._kind is not JoinKind.ANTI:
            band = self._spec.band
            partners = band.partners_of_right(time) if port else band.partners_of_left(time)
            yield Waiting((), self._times({port: time, 1 - port: partners.start}), certain=False)
        if self._kind.keeps_alone(port):
            alone = self._leaving_alone(port, time)
            yield Waiting(alone.needs, alone.times, certain=False)

    def needed(self, on: str, bound: int) -> Needs | None:
        side = next((side for side in self._promised if side.on == on), None)
        if side is None:
            return None
        number = side.number
        mine = Need(number, self._spec.sides[number].on, bound)
        if self.promises_pairs:
            return Needs((mine,), certain=False)  # of some groups it is promised before the others
        other = goes_at(self._spec.band, number, bound)
        return Needs((mine, Need(1 - number, self._spec.sides[1 - number].on, other)))

    def known(self, port: int, on: str) -> int:
        return self.state.bounds[port] if on == self._spec.sides[port].on else BEGINNING

    def _purge(self, side: int, first: int, out: Output) -> None:
        """Forget rows of a side below `first`; those that never met a partner come out."""
        state = self.state
        self._sides[side].store.purge(state.stored(side), first)
        if self._kind.tells_apart(side):
            alone = self._unmatched[side].leave(state.waiting(side), state.met(side), first)
            if alone is not None:
                self._alone(side, alone, out)
