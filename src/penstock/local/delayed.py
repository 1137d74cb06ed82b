"""Delayed: an operator that works on another processor, on a virtual clock.

The kernel runs one operator at a time, so one that is merely slow makes everybody wait alike. In a
split plan an expensive predicate runs beside the cheap one: what enters it comes out some time
later, while other branches go on. Here an operator gets its input that much later; rows and
punctuation keep their order. For simulations: what is inside is held by that processor.
Spec: window-queries 7.3, Fig 8-3.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from penstock.kernel.buffer import Cursor, Item
from penstock.kernel.graph import GraphNode
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.grain import Grain
from penstock.model.punctuation import Punctuation
from penstock.runtime.clock import Clock


class Delayed(Operator):
    """The same operator, `delay` ticks later by the clock."""

    idle_waiting_prone = True  # no arc may skip what is inside

    def __init__(self, operator: Operator, clock: Clock, delay: int) -> None:
        super().__init__()
        self.state = operator.state
        self._operator = operator
        self._clock = clock
        self._delay = delay
        self._inside: deque[tuple[int, Item]] = deque()

    @property
    def name(self) -> str:
        return self._operator.name

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        return self._operator.grain(on, behind)

    def translate(self, punctuation: Punctuation) -> Iterable[Punctuation]:
        return self._operator.translate(punctuation)

    def due(self) -> int | None:
        """When the next thing comes out, if there is one inside."""
        return self._inside[0][0] if self._inside else None

    def more(self, inputs: Sequence[Cursor]) -> bool:
        return not inputs[0].empty or (bool(self._inside) and self._is_due())

    def step(self, inputs: Sequence[Cursor], out: Output, limit: int | None) -> int:
        if not inputs[0].empty:
            item = inputs[0].take(limit)
            self._inside.append((self._clock.now() + self._delay, item))
            return 0 if isinstance(item, Punctuation) else len(item)
        _, item = self._inside.popleft()
        if isinstance(item, Punctuation):
            self._operator.on_punctuation(0, item, out)
        else:
            self._operator.on_batch(0, item, out)
        return 0

    def _is_due(self) -> bool:
        return self._inside[0][0] <= self._clock.now()


def delay(node: GraphNode, clock: Clock, ticks: int) -> Delayed:
    """Let a node's operator, which must have one input, work beside the others from now on."""
    assert node.operator is not None
    delayed = Delayed(node.operator, clock, ticks)
    node.operator = delayed
    return delayed
