"""What in-order joins share: inputs in order, and results in the order of their later timestamp.

Each input comes in the order of its own timestamps; they are not synchronised with each other. Up
to `trigger`, the time that both have reached, nothing earlier can come on either, so results up to
it can leave in order.

    waiting    rows that are not joined yet
    held       results that are not let out yet, sorted by their later timestamp

`sync_filter` makes rows wait, `filter_order` results, and `adaptive_order` switches between them.
Stored rows are purged by what the other input has reached, for it is in order.
Spec: ordered-joins 1 to 3; dynamic-optimization 1.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.joins.oa_join import OAJoin, OAJoinState
from penstock.kernel.joins.purge import goes_at, keep_from, output_bound
from penstock.kernel.joins.spec import JoinSpec
from penstock.kernel.operator import Output
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.segments import Table, table
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING

#: The column that tells a held result's place in the order.
LATER = "__later"


@dataclass
class OrderedJoinState(OAJoinState):
    """Rows and results that wait, and how far each input has come."""

    left_queue: Table = table()
    right_queue: Table = table()
    held: Table = table(LATER)
    reached: list[int] = field(default_factory=lambda: [BEGINNING, BEGINNING])

    def queue(self, side: int) -> Table:
        return self.right_queue if side else self.left_queue

    @property
    def trigger(self) -> int:
        """Both inputs have come this far."""
        return min(self.reached)


class _Results:
    """Collects what a join puts out."""

    def __init__(self) -> None:
        self.rows: list[pl.DataFrame] = []

    def batch(self, block: Block) -> None:
        self.rows.append(block.rows)

    def punctuation(self, punctuation: Punctuation) -> None:
        """What is promised on follows from the trigger alone."""


class OrderedJoin(OAJoin):
    """Results leave in the order of their later timestamp; subclasses say who waits."""

    knows_keys = False

    state: OrderedJoinState
    state_type = OrderedJoinState

    def __init__(self, spec: JoinSpec) -> None:
        super().__init__(spec)
        for number, side in enumerate(spec.sides):
            self.state.queue(number).on = side.on

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        on = self._spec.sides[port].on
        reached = self.state.reached
        reached[port] = max(reached[port], block.last(on))
        self._take(port, block)
        self._let_out(out)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        reached = self.state.reached
        if punctuation.on != self._spec.sides[port].on or punctuation.bound <= reached[port]:
            return
        reached[port] = punctuation.bound
        self._let_out(out)

    def _take(self, port: int, block: Block) -> None:
        """New rows: join them now, or let them wait."""
        raise NotImplementedError

    def _let_out(self, out: Output) -> None:
        """Put out what the trigger lets go, and promise on."""
        raise NotImplementedError

    # -- parts --------------------------------------------------------------------------------

    def _join(self, port: int, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Join rows with what is stored, and store them."""
        results = _Results()
        super().on_batch(port, Block(rows), results)
        return pl.concat(results.rows) if results.rows else None

    def _join_waiting(self, up_to: int) -> list[pl.DataFrame]:
        """Join the rows that wait, as far as that time."""
        results = []
        for port in (0, 1):
            rows = self.state.queue(port).take_in_order(up_to + 1)
            if rows is not None:
                found = self._join(port, rows)
                results += [] if found is None else [found]
        return results

    def _hold(self, results: list[pl.DataFrame]) -> None:
        for rows in results:
            self.state.held.append_sorted(rows.with_columns(self._later))

    @property
    def _later(self) -> pl.Expr:
        return pl.max_horizontal([side.on for side in self._sides]).alias(LATER)

    def _release(self, up_to: int, out: Output) -> None:
        """Let held results out, as far as that time."""
        rows = self.state.held.take_in_order(up_to + 1)
        if rows is not None:
            out.batch(Block(rows.drop(LATER)))

    def _promise(self, out: Output) -> None:
        """Purge, and promise: what comes later has a timestamp behind the trigger, and the other
        within the band of it."""
        state, band = self.state, self._spec.band
        for port in (0, 1):
            # An input is in order: what is joined from now on is not below what it has reached,
            # or not below the trigger where rows of it wait.
            come = state.trigger if state.queue(port).segments else state.reached[port]
            if come > state.bounds[port]:
                state.bounds[port] = come
                self._purge(1 - port, keep_from(band, 1 - port, come), out)
        for side in self._sides:
            bound = output_bound(band, side.number, state.trigger, state.trigger)
            if bound > self.state.sent[side.number]:
                self.state.sent[side.number] = bound
                out.punctuation(Punctuation(side.on, bound))

    # -- what it waits for --------------------------------------------------------------------

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        for port, side in enumerate(self._spec.sides):
            time = self.state.queue(port).lowest()
            if time is not None:
                yield from self.passes(port, {side.on: time})
        later = self.state.held.lowest()
        if later is not None:
            # Both of its times lie at most so far back.
            yield Waiting(self._both_at(later), self._least_times(later))

    def _least_times(self, later: int) -> Times:
        return {s.on: output_bound(self._spec.band, s.number, later, later) for s in self._sides}

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        time = times[self._spec.sides[port].on]
        if time is not None:
            yield Waiting(self._both_at(time), self._least_times(time), certain=False)

    def _both_at(self, time: int) -> tuple[Need, ...]:
        return tuple(Need(port, side.on, time) for port, side in enumerate(self._spec.sides))

    def needed(self, on: str, bound: int) -> Needs | None:
        side = next(side for side in self._sides if side.on == on)
        return Needs(self._both_at(max(bound, goes_at(self._spec.band, side.number, bound))))

    def known(self, port: int, on: str) -> int:
        return self.state.reached[port] if on == self._spec.sides[port].on else BEGINNING
