"""Punctuation that the program gives a running pipeline: checked here, read by the next batch.

The driver knows of a stream's bounds what batches have reported and what it has sent itself; a
`Generator` of its own judges by that whether a bound is one, and whether it says anything new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy

from penstock.kernel.progress.generate import Generator
from penstock.model.punctuation import Where
from penstock.model.streams import Stream
from penstock.spark.control.control_stream import ControlStream, about


class Punctuating:
    """What the program has said about the streams of one pipeline."""

    def __init__(self, streams: Iterable[Stream], control: ControlStream) -> None:
        self._generators = {stream.name: Generator(stream) for stream in streams}
        self._control = control

    def reached(self, bounds: Mapping[str, int]) -> None:
        """Take note of the streams' own bounds, as a batch has reported them."""
        for name, bound in bounds.items():
            state = self._generators[name].state
            state.own = max(state.own, bound)
            state.bound = max(state.bound, state.own)

    def check(self, stream: str, bound: int, where: Where) -> None:
        """Refuse what is not a bound."""
        deepcopy(self._generators[stream]).punctuate(bound, where)

    def send(self, stream: str, bound: int, where: Where) -> bool:
        """Send what was checked; gives whether it said anything new."""
        if not self._generators[stream].punctuate(bound, where):
            return False
        self._control.send(about(stream, bound, where) if where else {stream: bound})
        return True
