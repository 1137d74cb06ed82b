"""OPIB-Join: order-preserving, input-buffered.

Left rows wait, sorted, until the right side has promised that all their partners have come; then
they are joined in order, and so the results come in the order of the left timestamp. Right rows are
stored until no left row can need them. Less memory than OPOB-Join where there are more results than
rows, and more latency.  Spec: window-queries 6.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.joins.oa_join import OAJoin, OAJoinState
from penstock.kernel.joins.purge import goes_at, keep_from, output_bound
from penstock.kernel.joins.spec import JoinSpec
from penstock.kernel.operator import Output
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.segments import Table, table
from penstock.model.punctuation import Punctuation


@dataclass
class OPIBJoinState(OAJoinState):
    """OA-Join's, and the left rows that wait."""

    queue: Table = table()


class OPIBJoin(OAJoin):
    """Left rows are joined once, in order, when all their partners have come."""

    knows_keys = False

    state: OPIBJoinState
    state_type = OPIBJoinState

    def __init__(self, spec: JoinSpec) -> None:
        super().__init__(spec)
        self.state.queue.on = self._sides[0].on

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        side = self._sides[port]
        rows = side.can_match(side.named(block.rows))
        if not rows.height:
            return
        if port == 0:
            self.state.queue.append_sorted(rows)
        else:
            arrived = side.arrive(rows)
            side.store.add(self.state.right, arrived.rows, arrived.times)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        bounds, band = self.state.bounds, self._spec.band
        if punctuation.on != self._spec.sides[port].on or punctuation.bound <= bounds[port]:
            return
        bounds[port] = punctuation.bound
        left = self._sides[0]
        complete = output_bound(band, 0, bounds[0], bounds[1])
        rows = self.state.queue.take_in_order(complete)
        if rows is not None:
            pairs = self._pairing.find(0, left.arrive(rows), self.state.right)
            if pairs is not None:
                out.batch(Block(pairs.rows.sort(left.on)))
        self._purge(1, keep_from(band, 1, complete), out)
        self._promise(0, complete, out)
        self._promise(1, output_bound(band, 1, bounds[1], complete), out)

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        """Whether left rows have partners is looked for when all have come."""
        first = self.state.queue.lowest()
        return () if first is None else (self._joining(first),)

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        time = times[self._spec.sides[port].on]
        if time is None:
            return ()
        partners = self._spec.band.partners_of_right(time)
        return (self._joining(partners.start if port else time),)

    def _joining(self, time: int) -> Waiting:
        partners = self._spec.band.partners_of_left(time)
        return Waiting(
            self._complete(time + 1), self._times({0: time, 1: partners.start}), certain=False
        )

    def _complete(self, bound: int) -> tuple[Need, ...]:
        """What lets left rows below the bound be joined."""
        left, right = self._spec.sides
        return Need(0, left.on, bound), Need(1, right.on, goes_at(self._spec.band, 0, bound))

    def needed(self, on: str, bound: int) -> Needs | None:
        if on == self._sides[0].on:
            return Needs(self._complete(bound))
        others = self._complete(goes_at(self._spec.band, 1, bound))
        return Needs((*others, Need(1, self._spec.sides[1].on, bound)))

    def _promise(self, side: int, bound: int, out: Output) -> None:
        if bound > self.state.sent[side]:
            self.state.sent[side] = bound
            out.punctuation(Punctuation(self._sides[side].on, bound))
