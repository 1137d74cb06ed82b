"""Merge: union of ordered inputs into one ordered output, by waiting.

Rows pass in the order of their timestamps: a row may go once no input can still bring an earlier
one, which the TSM registers tell. So rows of a busy input wait for a quiet one. A step takes every
row up to the least time that all inputs are known to have reached, at most `limit` of them; of the
rows it looks at, those with equal timestamps leave in the order of their ports.

A bound is passed on when the least of the registers has risen and no row is at it.
Spec: execution-model 4, window-queries 7.2. The twin that does not wait is `meld`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from penstock.kernel.block import Block, concat
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress import registers
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.state import State
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING


@dataclass
class MergeState(State):
    """The registers, and the bound that was sent."""

    registers: list[int] = field(default_factory=list)
    sent: int = BEGINNING


class Merge(Operator):
    """Sort-merge union on `on`; each input must be ordered on it."""

    state: MergeState

    def __init__(self, ports: int, on: str) -> None:
        super().__init__()
        self.ports = ports
        self.on = on
        self._on = [on] * ports
        self.state = MergeState(registers.beginning(ports))
        self._next: int | None = None  # an input that was found to hold what may pass

    def useful(self, wanted: frozenset[str] | None) -> frozenset[str] | None:
        """Its inputs are ordered: their rows say how far they are, promises only what is behind."""
        return frozenset([self.on]) if wanted is None or self.on in wanted else frozenset()

    def more(self, inputs: Sequence[Cursor]) -> bool:
        # What may pass once may pass until it does: nothing earlier can come.
        if self._next is None:
            self._next = registers.holder(self.state.registers, inputs, self._on)
        return self._next is not None

    def hear(self, port: int, punctuation: Punctuation) -> None:
        if punctuation.on == self.on:
            self.state.registers[port] = max(self.state.registers[port], punctuation.bound)

    def starved(self, inputs: Sequence[Cursor]) -> int:
        return registers.starved(self.state.registers, inputs)

    def step(self, inputs: Sequence[Cursor], out: Output, limit: int | None) -> int:
        if not self.more(inputs):
            return 0
        port, self._next = self._next, None
        assert port is not None
        front = inputs[port].peek()
        if isinstance(front, Punctuation):
            inputs[port].take(1)
            self.on_punctuation(port, front, out)
            return 0
        taken = list(registers.take(self.state.registers, inputs, self._on, port, limit).values())
        merged = concat(taken)
        if len(taken) > 1:
            merged = Block(merged.rows.sort(self.on, maintain_order=True))
        out.batch(merged)
        return len(merged)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        # Other attributes say nothing about the order kept here, and rows leave with their
        # inputs mixed, so their bounds end here.
        if punctuation.on != self.on or punctuation.where:
            return
        state = self.state
        self.hear(port, punctuation)
        low = min(state.registers)
        if low > state.sent:
            state.sent = low
            out.punctuation(Punctuation(self.on, low))

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        rows = (item for cursor in inputs for item in cursor.unread() if isinstance(item, Block))
        first = min((block.first(self.on) for block in rows), default=None)
        return () if first is None else self._from(first)

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        time = times.get(self.on)
        return () if time is None else self._from(time)

    def _from(self, time: int) -> tuple[Waiting]:
        """A row may go once all inputs have come as far."""
        needs = tuple(Need(port, self.on, time) for port in range(self.ports))
        return (Waiting(needs, {self.on: time}),)

    def needed(self, on: str, bound: int) -> Needs | None:
        if on != self.on:
            return None
        return Needs(tuple(Need(port, on, bound) for port in range(self.ports)))

    def known(self, port: int, on: str) -> int:
        return self.state.registers[port] if on == self.on else BEGINNING
