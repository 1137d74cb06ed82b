"""OPOB-Join: order-preserving, output-buffered.

Joins like OA-Join, and sorts the results in a buffer by the left timestamp before it lets them out.
A baseline: all results of a window wait in the buffer.  Spec: window-queries 6.5.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.kernel.block import Block
from penstock.kernel.joins.oa_join import OAJoin, OAJoinState
from penstock.kernel.joins.spec import JoinSpec
from penstock.kernel.operator import Output
from penstock.kernel.operators.order import Order, OrderState
from penstock.kernel.state import Table
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING


@dataclass
class OPOBJoinState(OAJoinState):
    """OA-Join's, and the results that wait."""

    held: Table = field(default_factory=Table)
    released: int = BEGINNING


class OPOBJoin(OAJoin):
    """Results come out in the order of the left timestamp."""

    knows_keys = False

    state: OPOBJoinState

    def __init__(self, spec: JoinSpec) -> None:
        super().__init__(spec)
        self.state = OPOBJoinState()
        self._order = Order(self._sides[0].on)

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        super().on_batch(port, block, self._through(out))
        self._keep()

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        super().on_punctuation(port, punctuation, self._through(out))
        self._keep()

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
