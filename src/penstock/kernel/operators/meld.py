"""Meld: union without waiting.

Rows pass at once. Only punctuation waits: the output's bound on an attribute is the least of the
inputs' bounds, and is sent when it rises. Punctuation for some rows only is sent once every
input has sent it, or a bound on all rows that implies it: this state is kept per pattern.
Spec: window-queries 7.2. The waiting twin is `merge`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from penstock.kernel.block import Block
from penstock.kernel.operator import Output
from penstock.kernel.operators.passing import Passing
from penstock.kernel.progress.release import Need, Needs
from penstock.kernel.state import State
from penstock.model.punctuation import Punctuation, to_json
from penstock.model.timestamps import BEGINNING


@dataclass
class MeldState(State):
    """Per attribute: the bound of each input, and the one that was sent (per pattern as well)."""

    bounds: dict[str, list[int]] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
    # (attribute, pattern) as JSON -> the bound of each input on such rows
    patterns: dict[str, list[int]] = field(default_factory=dict)


class Meld(Passing):
    """Passes rows on in whatever order they come."""

    state: MeldState
    idle_waiting_prone = True

    def __init__(self, ports: int) -> None:
        super().__init__()
        self.ports = ports
        self.state = MeldState()

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        out.batch(block)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        bounds = self.state.bounds.setdefault(punctuation.on, [BEGINNING] * self.ports)
        pass_least(bounds, port, punctuation, self.state.sent, out)
        if self.state.patterns:
            self._send_patterns(punctuation.on, out)

    def on_pattern(self, port: int, punctuation: Punctuation, out: Output) -> None:
        if punctuation.bound <= self.state.sent.get(punctuation.on, BEGINNING):
            return
        key = json.dumps([punctuation.on, to_json(punctuation.where)])
        bounds = self.state.patterns.setdefault(key, [BEGINNING] * self.ports)
        bounds[port] = max(bounds[port], punctuation.bound)
        self._send_pattern(key, out)

    def needed(self, on: str, bound: int) -> Needs:
        return Needs(tuple(Need(port, on, bound) for port in range(self.ports)))

    def known(self, port: int, on: str) -> int:
        return self.state.bounds.get(on, [BEGINNING] * self.ports)[port]

    def _send_patterns(self, on: str, out: Output) -> None:
        """An input has a new bound on all rows, and so on those of each pattern."""
        sent = self.state.sent.get(on, BEGINNING)
        for key, bounds in list(self.state.patterns.items()):
            if json.loads(key)[0] != on:
                continue
            if max(bounds) <= sent:
                del self.state.patterns[key]
                self.state.sent.pop(key, None)
            else:
                self._send_pattern(key, out)

    def _send_pattern(self, key: str, out: Output) -> None:
        on, where = json.loads(key)
        every = self.state.bounds.get(on, [BEGINNING] * self.ports)
        low = min(map(max, every, self.state.patterns[key]))
        if low > max(self.state.sent.get(on, BEGINNING), self.state.sent.get(key, BEGINNING)):
            self.state.sent[key] = low
            out.punctuation(Punctuation(on, low, where))


def pass_least(
    bounds: list[int], port: int, punctuation: Punctuation, sent: dict[str, int], out: Output
) -> None:
    """Note the bound of an input; the least of all goes on when it rises above what was sent."""
    bounds[port] = max(bounds[port], punctuation.bound)
    low = min(bounds)
    if low > sent.get(punctuation.on, BEGINNING):
        sent[punctuation.on] = low
        out.punctuation(Punctuation(punctuation.on, low))
