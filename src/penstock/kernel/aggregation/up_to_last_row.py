"""UpToLastRow: the results of windows over rows that the stream has come to.

Windows over rows overlap, so the last rows of a stream are also in windows that end long after it.
Of those only the ones have a result in whose last SLIDE there is a row of the stream: further ones
would show again what the one before has shown, less and less of it, for rows that never came. While
a stream goes on, every window comes to that; so this matters once, at its end.

Port 0 brings the results, port 1 the rows that they are of; what counts there is how many the
stream has, which is what the bounds on the row number say.  Spec: window-queries 2.4, 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import polars as pl

from penstock.kernel.aggregation.behind_windows import BehindWindows, WaitingResults
from penstock.kernel.block import Block
from penstock.kernel.operator import Output
from penstock.kernel.progress.grain import Grain, grain_of
from penstock.kernel.progress.release import Need, Times, Waiting
from penstock.kernel.segments import where
from penstock.model.punctuation import Punctuation
from penstock.model.schema import WINDOW_END
from penstock.model.timestamps import BEGINNING, END
from penstock.windows.sliding import Sliding

RESULTS, ROWS = 0, 1


@dataclass
class UpToLastRowState(WaitingResults):
    """Results that no row has come to yet, and the number of the last row."""

    counted: int = BEGINNING


class UpToLastRow(BehindWindows):
    """Lets results pass whose window has a row in its last step."""

    state: UpToLastRowState

    def __init__(self, window: Sliding) -> None:
        super().__init__((WINDOW_END, window.on), window.range)
        self.state = UpToLastRowState(self.state.bounds)
        self._window = window

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        if on == self._window.on:
            # Told when the first row of a step has come: the bound behind it.
            return grain_of((self._window.slide, self._window.origin + 1))
        return super().grain(on, behind)

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        if port == RESULTS:
            self.state.waiting.append(block.rows)
            self._release(out)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        if port == ROWS and punctuation.on == self._window.on and not punctuation.is_final:
            self.state.counted = max(self.state.counted, punctuation.bound - 1)
        super().on_punctuation(port, punctuation, out)

    def on_pattern(self, port: int, punctuation: Punctuation, out: Output) -> None:
        """A bound about some groups holds, unless one of their results is still here."""
        if port == RESULTS and not self.state.waiting.rows:
            out.punctuation(punctuation)

    def _release(self, out: Output) -> int:
        state = self.state
        is_reached = pl.col(WINDOW_END) - self._window.slide <= state.counted
        reached = state.waiting.take_where(where(is_reached))
        if state.bounds[ROWS] >= END:  # no row comes any more
            state.waiting.clear()
        if reached:
            out.batch(Block(pl.concat(reached)))
        waiting = state.waiting.extent()
        received = state.bounds[RESULTS]
        return received if waiting is None else min(received, waiting[0])

    # -- what it waits for --------------------------------------------------------------------

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        end = times.get(WINDOW_END)
        if port == ROWS or end is None:
            return ()
        if end - self._window.slide <= self.state.counted:
            return (Waiting((), times),)
        return self._waiting(end)

    def _lets_out(self, end: int) -> tuple[Need, ...]:
        return (Need(ROWS, self._window.on, end - self._window.slide + 1),)

    def _passes_on(self, end: int) -> tuple[Need, ...]:
        return (Need(RESULTS, WINDOW_END, end),)
