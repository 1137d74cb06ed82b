"""TSM join: the window join of the execution model, whose rows wait in the inputs' buffers.

Each input has a TSM register. A row may be joined once no input can still bring an earlier one:
then it meets the windows of the others, results take its timestamp, which is the latest of theirs,
and it enters its own window. So results are in order, nothing but windows is kept, and rows of a
busy input wait for a quiet one where they are (`operators/in_step`).  Spec: execution-model 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.mjoin import MJoinSpec
from penstock.kernel.joins.spec import JoinSpec
from penstock.kernel.joins.tactics.in_order import InOrder, in_order_of_latest
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.joins.window_join import WindowJoin
from penstock.kernel.operator import Output
from penstock.kernel.operators.in_step import InStep
from penstock.kernel.progress.release import Waiting
from penstock.model.punctuation import Punctuation


class TSM(InOrder):
    """Rows come when they can be joined, so neither they nor results wait here."""

    name = "TSMJoin"

    def tables(self, inputs: Inputs) -> dict[str, str]:
        return {}

    def held_results(self, inputs: Inputs) -> Iterator[pl.DataFrame]:
        return iter(())

    def waiting(self, inputs: Inputs) -> Iterator[tuple[int, pl.DataFrame]]:
        return iter(())

    def come(self, inputs: Inputs) -> Sequence[int]:
        return inputs.state.reached

    def held(self, inputs: Inputs, cursors: Sequence[Cursor]) -> Iterable[Waiting]:
        for port, cursor in enumerate(cursors):
            on = inputs.on[port]
            blocks = (item for item in cursor.unread() if isinstance(item, Block))
            first = next(blocks, None)
            if first is not None:
                yield from self.passes(inputs, port, {on: first.first(on)})


class TSMJoin(InStep, WindowJoin):
    """Rows come to it when they can be joined."""

    def __init__(self, spec: JoinSpec | MJoinSpec, tactic: Tactic | None = None) -> None:
        super().__init__(spec, tactic or TSM())
        self.ordered_on = self.inputs.on

    @property
    def registers(self) -> list[int]:
        return self.state.reached

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        # The register may have it already: it is set by what stands at the front.
        if punctuation.on == self.inputs.on[port]:
            self.advance(port, punctuation.bound, out)
        else:
            super().on_punctuation(port, punctuation, out)

    def take(self, port: int, blocks: Mapping[int, Block], out: Output) -> None:
        found = [rows for each, b in blocks.items() for rows in self.inputs.meet(each, b.rows)]
        self.put(in_order_of_latest(self.inputs, found), out)
        self.advance(port, self.state.reached[port], out)
