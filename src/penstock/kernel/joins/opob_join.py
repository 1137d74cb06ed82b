"""OPOB-Join: order-preserving, output-buffered.

Joins like OA-Join, and sorts the results in a buffer by the left timestamp before it lets them out.
A baseline: all results of a window wait in the buffer.  Spec: window-queries 6.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.joins.oa_join import OAJoin, OAJoinState
from penstock.kernel.joins.spec import JoinSpec
from penstock.kernel.operator import Output
from penstock.kernel.operators.order import Order, OrderState
from penstock.kernel.progress.release import Needs, Times, Waiting
from penstock.kernel.segments import Table, table
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING


@dataclass
class OPOBJoinState(OAJoinState):
    """OA-Join's, and the results that wait."""

    held: Table = table()
    released: int = BEGINNING


class OPOBJoin(OAJoin):
    """Results come out in the order of the left timestamp."""

    knows_keys = False

    state: OPOBJoinState
    state_type = OPOBJoinState

    def __init__(self, spec: JoinSpec) -> None:
        super().__init__(spec)
        self.state.held.on = self._sides[0].on
        self._order = Order(self._sides[0].on)

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        super().on_batch(port, block, self._through(out))
        self._keep()

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        super().on_punctuation(port, punctuation, self._through(out))
        self._keep()

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        first = self.state.held.lowest()
        if first is not None:
            yield self._in_order(first, certain=True)

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        for pair in super().passes(port, times):
            first = pair.times[self._sides[0].on]
            assert first is not None  # it finds pairs only
            yield self._in_order(first, certain=False)

    def _in_order(self, time: int, *, certain: bool) -> Waiting:
        needs = super().needed(self._sides[0].on, time + 1)
        assert needs is not None
        return Waiting(needs.needs, {self._sides[0].on: time}, certain)

    def needed(self, on: str, bound: int) -> Needs | None:
        return super().needed(on, bound) if on == self._sides[0].on else None

    def _through(self, out: Output) -> _Ordering:
        # The buffer is an Order of its own, whose state stands in ours.
        self._order.state = OrderState(self.state.held, self.state.released)
        return _Ordering(self._order, out)

    def _keep(self) -> None:
        self.state.held, self.state.released = self._order.state.waiting, self._order.state.bound


class _Ordering:
    """An output that sorts on the way."""

    def __init__(self, order: Order, out: Output) -> None:
        self._order = order
        self._out = out

    def batch(self, block: Block) -> None:
        self._order.on_batch(0, block, self._out)

    def punctuation(self, punctuation: Punctuation) -> None:
        self._order.on_punctuation(0, punctuation, self._out)
