"""Select: the rows for which a predicate is true.

Punctuation passes unchanged: dropping rows violates no bound.  Spec: window-queries 7.2.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.kernel.block import Block
from penstock.kernel.expressions.filter_index import Condition, FilterIndex
from penstock.kernel.operator import Output
from penstock.kernel.operators.passing import Passing
from penstock.kernel.progress.release import Times, Waiting
from penstock.model.expressions import Expression


class Select(Passing):
    """Keeps a row where the predicate is true; false and NULL drop it."""

    def __init__(self, predicate: Expression) -> None:
        super().__init__()
        self.condition = Condition(predicate)

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        rows, parts = block.rows, self.condition.parts
        passed = FilterIndex(rows).passed_by_any(parts) if parts else self.condition.compiled
        out.batch(Block(rows.filter(passed)))

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        return (Waiting((), times, certain=False),)
