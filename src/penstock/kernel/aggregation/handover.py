"""Handover: one way to compute a window takes over from another, at the end of a window.

Both compute the same windows of the same rows, but the second has seen no row from before it was
built. So results of windows that end by `until` are the first's, and later ones, to which no row
had come by then, are the second's. The second's wait until the first has put out its last, so that
results come in the order of their windows. What each computes besides is dropped. Once the first is
through, it can be removed, and this operator with it. Switching between algorithms at the end of a
window is ours; the specification migrates joins (dynamic-optimization 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import polars as pl

from penstock.kernel.aggregation.driver import announce_ends, end_for, put_out
from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.segments import SegmentTable, table
from penstock.kernel.state import State
from penstock.model.punctuation import Punctuation
from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.model.timestamps import BEGINNING
from penstock.windows.sliding import Sliding

FIRST, SECOND = 0, 1


@dataclass
class HandoverState(State):
    """Results of the second that wait for the first to end, and the bound of each input."""

    waiting: SegmentTable = table(WINDOW_END)
    bounds: list[int] = field(default_factory=lambda: [BEGINNING, BEGINNING])
    sent: int = BEGINNING


class Handover(Operator):
    """Results up to `until` from the first input, later ones from the second."""

    ports = 2
    state: HandoverState

    def __init__(self, window: Sliding, until: int) -> None:
        super().__init__()
        self.state = HandoverState()
        self._range = window.range
        self._until = until

    @property
    def is_over(self) -> bool:
        """Whether the first has put out its last."""
        return self.state.bounds[FIRST] > self._until

    def useful(self, wanted: frozenset[str] | None) -> frozenset[str]:
        return frozenset([WINDOW_END])

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        before = pl.col(WINDOW_END) <= self._until
        rows = block.rows.filter(before if port == FIRST else ~before)
        if port == SECOND and not self.is_over:
            self.state.waiting.append(rows)
        else:
            put_out(rows, out)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        state = self.state
        if punctuation.on != WINDOW_END:
            return
        state.bounds[port] = max(state.bounds[port], punctuation.bound)
        if self.is_over:
            for rows in state.waiting:
                put_out(rows, out)
            state.waiting.clear()
        bound = state.bounds[FIRST]
        if self.is_over:
            bound = max(state.bounds[SECOND], self._until + 1)
        if bound > state.sent:
            state.sent = bound
            announce_ends(bound, self._range, out)

    # -- what it waits for --------------------------------------------------------------------

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        ends = self.state.waiting.extent()
        return () if ends is None else self._second(ends[0])

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        end = times[WINDOW_END]
        if end is None or (port == FIRST) != (end <= self._until):
            return ()
        return (Waiting((), times),) if port == FIRST or self.is_over else self._second(end)

    def _second(self, end: int) -> tuple[Waiting]:
        return (Waiting((self._ended,), {WINDOW_START: end - self._range, WINDOW_END: end}),)

    @property
    def _ended(self) -> Need:
        return Need(FIRST, WINDOW_END, self._until + 1)

    def needed(self, on: str, bound: int) -> Needs | None:
        end = end_for(on, bound, self._range)
        if end <= self._until + 1:
            return Needs((Need(FIRST, WINDOW_END, end),))
        return Needs((self._ended, Need(SECOND, WINDOW_END, end)))

    def known(self, port: int, on: str) -> int:
        return self.state.bounds[port] if on == WINDOW_END else BEGINNING
