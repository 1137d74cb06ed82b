"""UpToLastRow: the results of windows over rows that the stream has come to.

Windows over rows overlap, so the last rows of a stream are also in windows that end long after it.
Of those only the ones have a result in whose last SLIDE there is a row of the stream: further ones
would show again what the one before has shown, less and less of it, for rows that never came. While
a stream goes on, every window comes to that; so this matters once, at its end.

Port 0 brings the results, port 1 the rows that they are of; what counts there is how many the
stream has, which is what the bounds on the row number say.  Spec: window-queries 2.4, 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from penstock.kernel.aggregation.driver import announce_ends, end_for
from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.grain import Grain, grain_of
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.segments import SegmentTable, table, where
from penstock.kernel.state import State
from penstock.model.punctuation import Punctuation
from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.model.timestamps import BEGINNING, END
from penstock.windows.sliding import Sliding

RESULTS, ROWS = 0, 1


@dataclass
class UpToLastRowState(State):
    """Results that no row has come to yet, the number of the last row, and the bound received."""

    waiting: SegmentTable = table(WINDOW_END)
    counted: int = BEGINNING
    over: bool = False  # whether no row comes any more
    received: int = BEGINNING  # about the results
    sent: int = BEGINNING


class UpToLastRow(Operator):
    """Lets results pass whose window has a row in its last step."""

    ports = 2
    state: UpToLastRowState

    def __init__(self, window: Sliding) -> None:
        super().__init__()
        self.state = UpToLastRowState()
        self._on = window.on
        self._slide = window.slide
        self._range = window.range
        self._origin = window.origin

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        if on == self._on:
            # Told when the first row of a step has come: the bound behind it.
            return grain_of((self._slide, self._origin + 1))
        return super().grain(on, behind)

    def useful(self, wanted: frozenset[str] | None) -> frozenset[str]:
        return frozenset([WINDOW_END, self._on])

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        if port == RESULTS:
            self.state.waiting.append(block.rows)
            self._release(out)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        state, bound = self.state, punctuation.bound
        if port == RESULTS and punctuation.on == WINDOW_END:
            state.received = max(state.received, bound)
        elif port == ROWS and punctuation.on == self._on:
            if punctuation.is_final:
                state.over = True
            else:
                state.counted = max(state.counted, bound - 1)
        else:
            return
        self._release(out)
        self._announce(out)

    def on_pattern(self, port: int, punctuation: Punctuation, out: Output) -> None:
        """A bound about some groups holds, unless one of their results is still here."""
        if port == RESULTS and not self.state.waiting.rows:
            out.punctuation(punctuation)

    def _release(self, out: Output) -> None:
        state = self.state
        reached = state.waiting.take_where(where(pl.col(WINDOW_END) - self._slide <= state.counted))
        if state.over:
            state.waiting.clear()
        if reached:
            out.batch(Block(pl.concat(reached)))

    def _announce(self, out: Output) -> None:
        state, bound = self.state, self.state.received
        waiting = state.waiting.extent()
        bound = bound if waiting is None else min(bound, waiting[0])
        if bound > state.sent:
            state.sent = bound
            announce_ends(bound, self._range, out)

    # -- what it waits for --------------------------------------------------------------------

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        ends = self.state.waiting.extent()
        return () if ends is None else (self._waiting(ends[0]),)

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        end = times.get(WINDOW_END)
        if port == ROWS or end is None:
            return ()
        if end - self._slide <= self.state.counted:
            return (Waiting((), times),)
        return (self._waiting(end),)

    def _waiting(self, end: int) -> Waiting:
        times = {WINDOW_START: end - self._range, WINDOW_END: end}
        return Waiting((Need(ROWS, self._on, end - self._slide + 1),), times)

    def needed(self, on: str, bound: int) -> Needs | None:
        return Needs((Need(RESULTS, WINDOW_END, end_for(on, bound, self._range)),))

    def known(self, port: int, on: str) -> int:
        if port == RESULTS:
            return self.state.received if on == WINDOW_END else BEGINNING
        if on != self._on:
            return BEGINNING
        return END if self.state.over else self.state.counted + 1
