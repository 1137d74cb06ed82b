"""OPIB-Join: order-preserving, input-buffered.

Left rows wait, sorted, until the right side has promised that all their partners have come; then
they are joined in order, and so the results come in the order of the left timestamp. Right rows are
stored until no left row can need them. Less memory than OPOB-Join where there are more results than
rows, and more latency.  Spec: window-queries 6.5.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.kernel.block import Block
from penstock.kernel.joins.oa_join import OAJoin, OAJoinState
from penstock.kernel.joins.purge import keep_from, output_bound
from penstock.kernel.joins.spec import JoinSpec
from penstock.kernel.operator import Output
from penstock.kernel.sorted_segments import append_sorted, take_below
from penstock.kernel.state import Table
from penstock.model.punctuation import Punctuation


@dataclass
class OPIBJoinState(OAJoinState):
    """OA-Join's, and the left rows that wait."""

    queue: Table = field(default_factory=Table)


class OPIBJoin(OAJoin):
    """Left rows are joined once, in order, when all their partners have come."""

    knows_keys = False

    state: OPIBJoinState

    def __init__(self, spec: JoinSpec) -> None:
        super().__init__(spec)
        self.state = OPIBJoinState()

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        side = self._sides[port]
        rows = side.can_match(side.named(block.rows))
        if not rows.height:
            return
        if port == 0:
            append_sorted(self.state.queue, rows, side.on)
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
        rows = take_below(self.state.queue, left.on, complete)
        if rows is not None:
            pairs = self._pairing.find(0, left.arrive(rows), self.state.right)
            if pairs is not None:
                out.batch(Block(pairs.rows.sort(left.on)))
        self._purge(1, keep_from(band, 1, complete), out)
        self._promise(0, complete, out)
        self._promise(1, output_bound(band, 1, bounds[1], complete), out)

    def _promise(self, side: int, bound: int, out: Output) -> None:
        if bound > self.state.sent[side]:
            self.state.sent[side] = bound
            out.punctuation(Punctuation(self._sides[side].on, bound))
