"""LandmarkAggregate: WID for windows that all begin with the stream.

A row's range of wids has no end. Cut at a bound, what lies behind it goes on as the total so far;
rows of later steps add to it from their own step on. So there is one entry per group and step that
is still open, and one for everything before.

A stream's last window is the one of its newest row; later ones would repeat it for ever. Whether a
window in a lull exists is thus only known when a row comes that is newer: until then its result
waits, and so does the bound.  Spec: window-queries 2.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from penstock.kernel.aggregation.wid.bucket import WID, WID_END, WID_START
from penstock.kernel.aggregation.wid.wid import WidAggregate, WidState
from penstock.kernel.block import Block
from penstock.kernel.operator import Output
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING, END


@dataclass
class LandmarkState(WidState):
    """The greatest step that had a row, and the bound received last."""

    newest: int = BEGINNING
    received: int = BEGINNING


class LandmarkAggregate(WidAggregate):
    """Reports everything so far, at every step."""

    state: LandmarkState
    state_class = LandmarkState

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        super().on_batch(port, block, out)
        if len(block):
            newest = int(block.rows.get_column(WID_START).to_numpy().max())
            self.state.newest = max(self.state.newest, newest)
            self._advance(out)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        if punctuation.on == WID:
            self.state.received = max(self.state.received, punctuation.bound)
            self._advance(out)

    def on_pattern(self, port: int, punctuation: Punctuation, out: Output) -> None:
        """Of some groups, too, only the steps up to the newest row are known to exist."""
        if self.state.newest > BEGINNING:
            bound = min(punctuation.bound, self.state.newest + 1)
            super().on_pattern(port, replace(punctuation, bound=bound), out)

    def first_open(self) -> int | None:
        """Steps up to that of the newest row have results, with or without rows of their own."""
        first = super().first_open()
        return first if first is not None and first <= self.state.newest else None

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        """A newer row also brings out the steps before it."""
        first = super().first_open()
        step = times[WID]
        assert step is not None
        earlier = step if first is None else min(step, first)
        return super().passes(port, {WID: earlier, WID_END: END})

    def needed(self, on: str, bound: int) -> Needs | None:
        """No bound leads beyond the newest row, but the last one."""
        found = super().needed(on, bound)
        if found is None:
            return None
        [need] = found.needs
        wid = need.bound if need.bound <= self.state.newest + 1 else END
        return Needs((Need(0, WID, wid),))

    def known(self, port: int, on: str) -> int:
        return self.state.received if on == WID else BEGINNING

    def _advance(self, out: Output) -> None:
        state = self.state
        begun = state.newest > BEGINNING
        bound = min(state.received, state.newest + 1) if begun else state.received
        if bound > state.closed:
            super().on_punctuation(0, Punctuation(WID, bound), out)
        if state.received >= END > state.closed:
            state.partials.clear()
            state.closed = END
            self._announce(END, (), out)
