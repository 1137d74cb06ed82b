"""Fork: several operators read one buffer, and no row is copied.

Fork owns the buffer its producer writes to; each branch has a cursor of its own there (a *dummy
buffer*), and a row goes once all branches have passed it. So there is nothing to execute: Fork only
tells the scheduler whose turn it is. Because no row moves, one can be put in or taken out of a
running graph without losing or repeating any.  Spec: execution-model 3.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Operator, Output


class Fork(Operator):
    """Serves its branches in turn; `turn` counts the branches served."""

    turn = 0

    def more(self, inputs: Sequence[Cursor]) -> bool:
        return False

    def step(self, inputs: Sequence[Cursor], out: Output, limit: int | None) -> int:
        return 0
