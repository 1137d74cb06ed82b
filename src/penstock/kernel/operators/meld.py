"""Meld: union without waiting.

Rows pass at once. Only punctuation waits: the output's bound on an attribute is the least of the
inputs' bounds, and is sent when it rises.  Spec: window-queries 7.2. The waiting twin is `merge`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.kernel.block import Block
from penstock.kernel.operator import Operator, Output
from penstock.kernel.state import State
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING


@dataclass
class MeldState(State):
    """Per attribute: the bound of each input, and the one that was sent."""

    bounds: dict[str, list[int]] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)


class Meld(Operator):
    """Passes rows on in whatever order they come."""

    state: MeldState

    def __init__(self, ports: int) -> None:
        super().__init__()
        self.ports = ports
        self.state = MeldState()

    def useful(self, wanted: frozenset[str] | None) -> frozenset[str] | None:
        return wanted

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        out.batch(block)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        bounds = self.state.bounds.setdefault(punctuation.on, [BEGINNING] * self.ports)
        bounds[port] = max(bounds[port], punctuation.bound)
        low = min(bounds)
        if low > self.state.sent.get(punctuation.on, BEGINNING):
            self.state.sent[punctuation.on] = low
            out.punctuation(Punctuation(punctuation.on, low))
