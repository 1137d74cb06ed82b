"""Select: the rows for which a predicate is true.

Punctuation passes unchanged: dropping rows violates no bound.  Spec: window-queries 7.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.kernel.block import Block
from penstock.kernel.expressions import compile_expression
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.grain import Grain
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.model.expressions import Expression
from penstock.model.punctuation import Punctuation


class Select(Operator):
    """Keeps a row where the predicate is true; false and NULL drop it."""

    idle_waiting_prone = False

    def __init__(self, predicate: Expression) -> None:
        super().__init__()
        self._predicate = compile_expression(predicate)

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        out.batch(Block(block.rows.filter(self._predicate)))

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        return (Waiting((), times, certain=False),)

    def needed(self, on: str, bound: int) -> Needs:
        return Needs((Need(0, on, bound),))

    def translate(self, punctuation: Punctuation) -> tuple[Punctuation, ...]:
        return (punctuation,)

    def useful(self, wanted: frozenset[str] | None) -> frozenset[str] | None:
        return wanted

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        return behind(on)
