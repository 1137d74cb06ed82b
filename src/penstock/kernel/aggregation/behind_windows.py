"""BehindWindows: what operators have in common that get the results of windows of one length.

Results wait until bounds on the inputs let them out. Behind them goes a bound on the ends of
windows, and with it what that says about their starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.release import Need, Needs, Waiting
from penstock.kernel.segments import SegmentTable, table
from penstock.kernel.state import State
from penstock.model.punctuation import Punctuation
from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.model.timestamps import BEGINNING, END


@dataclass
class WaitingResults(State):
    """Results that wait, the bound of each input, and the bound sent last."""

    bounds: list[int]
    waiting: SegmentTable = table(WINDOW_END)
    sent: int = BEGINNING


class BehindWindows(Operator):
    """Gets results of windows of length `range_`; on each port, bounds on one of `clocks` count."""

    state: WaitingResults

    def __init__(self, clocks: Sequence[str], range_: int) -> None:
        super().__init__()
        self.ports = len(clocks)
        self.state = WaitingResults([BEGINNING] * len(clocks))
        self._clocks = clocks
        self._range = range_

    def useful(self) -> frozenset[str]:
        return frozenset(self._clocks)

    def known(self, port: int, on: str) -> int:
        return self.state.bounds[port] if on == self._clocks[port] else BEGINNING

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        state = self.state
        if punctuation.on != self._clocks[port]:
            return
        state.bounds[port] = max(state.bounds[port], punctuation.bound)
        bound = self._release(out)
        if bound > state.sent:
            state.sent = bound
            out.punctuation(Punctuation(WINDOW_END, bound))
            start = END if bound >= END else bound - self._range
            out.punctuation(Punctuation(WINDOW_START, start))

    def _release(self, out: Output) -> int:
        """Let out what bounds allow; gives the bound on the ends of windows to come."""
        raise NotImplementedError

    # -- what it waits for --------------------------------------------------------------------

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        ends = self.state.waiting.extent()
        return () if ends is None else self._waiting(ends[0])

    def _waiting(self, end: int) -> tuple[Waiting]:
        times = {WINDOW_START: end - self._range, WINDOW_END: end}
        return (Waiting(self._lets_out(end), times),)

    def _lets_out(self, end: int) -> tuple[Need, ...]:
        """What lets out results of windows that end here."""
        raise NotImplementedError

    def needed(self, on: str, bound: int) -> Needs | None:
        either = on == WINDOW_END or bound >= END
        return Needs(self._passes_on(bound if either else bound + self._range))

    def _passes_on(self, end: int) -> tuple[Need, ...]:
        """What makes it say that no later window ends below this."""
        raise NotImplementedError
