"""TSM join: the window join of the execution model, whose rows wait in the inputs' buffers.

Each input has a TSM register. A row may be joined once no input can still bring an earlier one:
then it meets the windows of the others, results take its timestamp, which is the latest of theirs,
and it enters its own window. So results are in order, nothing but windows is kept, and rows of a
busy input wait for a quiet one where they are. A step takes every row up to the least time that all
inputs are known to have reached, at most `limit` of them.  Spec: execution-model 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.mjoin import MJoinSpec
from penstock.kernel.joins.spec import JoinSpec
from penstock.kernel.joins.tactics.in_order import InOrder, in_order_of_latest
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.joins.window_join import WindowJoin
from penstock.kernel.operator import Output
from penstock.kernel.progress import registers
from penstock.kernel.progress.release import Waiting
from penstock.model.punctuation import Punctuation


class TSM(InOrder):
    """Rows come when they can be joined, so neither they nor results wait here."""

    name = "TSMJoin"

    def tables(self, inputs: Inputs) -> dict[str, str]:
        return {}

    def come(self, join: WindowJoin) -> Sequence[int]:
        return join.state.reached

    def held(self, join: WindowJoin, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        for port, cursor in enumerate(inputs):
            on = join.inputs.on[port]
            blocks = (item for item in cursor.unread() if isinstance(item, Block))
            first = next(blocks, None)
            if first is not None:
                yield from self.passes(join, port, {on: first.first(on)})


class TSMJoin(WindowJoin):
    """Consumes the row with the least timestamp; each input must be in the order of its own."""

    def __init__(self, spec: JoinSpec | MJoinSpec, tactic: Tactic | None = None) -> None:
        super().__init__(spec, tactic or TSM())
        self._next: int | None = None  # an input that was found to hold what may pass

    def more(self, inputs: Sequence[Cursor]) -> bool:
        # What may pass once may pass until it does: nothing earlier can come.
        if self._next is None:
            self._next = registers.holder(self.state.reached, inputs, self.inputs.on)
        return self._next is not None

    def hear(self, port: int, punctuation: Punctuation) -> None:
        if punctuation.on == self.inputs.on[port]:
            reached = self.state.reached
            reached[port] = max(reached[port], punctuation.bound)

    def starved(self, inputs: Sequence[Cursor]) -> int:
        return registers.starved(self.state.reached, inputs)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        # The register may have it already: it is set by what stands at the front.
        if punctuation.on == self.inputs.on[port] and not punctuation.where:
            self.advance(port, punctuation.bound, out)
        elif not punctuation.where:
            super().on_punctuation(port, punctuation, out)

    def step(self, inputs: Sequence[Cursor], out: Output, limit: int | None) -> int:
        if not self.more(inputs):
            return 0
        port, self._next = self._next, None
        assert port is not None
        front = inputs[port].peek()
        if isinstance(front, Punctuation):
            inputs[port].take(1)
            self.on_punctuation(port, front, out)
            return 0
        taken = registers.take(self.state.reached, inputs, self.inputs.on, port, limit)
        found = [rows for each, b in taken.items() for rows in self.inputs.meet(each, b.rows)]
        self.put(in_order_of_latest(self, found), out)
        self.advance(port, self.state.reached[port], out)
        return sum(map(len, taken.values()))
