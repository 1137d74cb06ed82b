"""Merge: union of ordered inputs into one ordered output, by waiting.

Rows pass in the order of their timestamps: a row may go once no input can still bring an earlier
one, which the TSM registers tell. So rows of a busy input wait for a quiet one. A step takes every
row up to the least time that all inputs are known to have reached, at most `limit` of them; of the
rows it looks at, those with equal timestamps leave in the order of their ports.

A bound is passed on when the least of the registers has risen and no row is at it. Bounds of other
columns that progress say nothing about the order kept here; rows that wait are in the inputs'
buffers, and bounds behind them wait with them. So the least of what the inputs have brought is a
bound, as in `meld`.
Spec: execution-model 4, window-queries 7.2. The twin that does not wait is `meld`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from penstock.kernel.block import Block, concat
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress import registers
from penstock.kernel.progress.grain import Grain
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.state import State
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING


@dataclass
class MergeState(State):
    """The registers, and the bound that was sent; the same for other columns that progress."""

    registers: list[int] = field(default_factory=list)
    sent: int = BEGINNING
    others: dict[str, list[int]] = field(default_factory=dict)
    others_sent: dict[str, int] = field(default_factory=dict)


class Merge(Operator):
    """Sort-merge union on `on`; each input must be ordered on it. `others` progress as well."""

    state: MergeState

    def __init__(self, ports: int, on: str, others: Sequence[str] = ()) -> None:
        super().__init__()
        self.ports = ports
        self.on = on
        self._others = others
        self._on = [on] * ports
        self.state = MergeState(registers.beginning(ports))
        self._next: int | None = None  # an input that was found to hold what may pass

    def useful(self, wanted: frozenset[str] | None) -> frozenset[str] | None:
        """Its inputs are ordered: their rows say how far they are, promises only what is behind."""
        return frozenset([self.on, *self._others]) if wanted is None else wanted

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        return super().grain(on, behind) if on == self.on else behind(on)

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
        if punctuation.where:
            return
        state, on = self.state, punctuation.on
        if on != self.on:
            bounds = state.others.setdefault(on, registers.beginning(self.ports))
            bounds[port] = max(bounds[port], punctuation.bound)
            if min(bounds) > state.others_sent.get(on, BEGINNING):
                state.others_sent[on] = min(bounds)
                out.punctuation(Punctuation(on, min(bounds)))
            return
        self.hear(port, punctuation)
        low = min(state.registers)
        if low > state.sent:
            state.sent = low
            out.punctuation(Punctuation(self.on, low))

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        blocks = [b for cursor in inputs for b in cursor.unread() if isinstance(b, Block)]
        if not blocks:
            return ()
        first = min(block.first(self.on) for block in blocks)
        rows = [block.rows for block in blocks]
        return self._from({**least(rows, self._others), self.on: first})

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        return () if times.get(self.on) is None else self._from(times)

    def _from(self, times: Times) -> tuple[Waiting]:
        """A row may go once all inputs have come as far."""
        time = times[self.on]
        assert time is not None
        return (Waiting(tuple(Need(p, self.on, time) for p in range(self.ports)), times),)

    def needed(self, on: str, bound: int) -> Needs:
        # Bounds of other columns may wait behind rows.
        needs = tuple(Need(port, on, bound) for port in range(self.ports))
        return Needs(needs, certain=on == self.on)

    def known(self, port: int, on: str) -> int:
        if on == self.on:
            return self.state.registers[port]
        return self.state.others.get(on, registers.beginning(self.ports))[port]


def least(blocks: Sequence[pl.DataFrame], columns: Iterable[str]) -> dict[str, int | None]:
    """The least value of each column; None: there is none."""
    found: dict[str, int | None] = {}
    for name in columns:
        values: list[Any] = [block.get_column(name).to_physical().min() for block in blocks]
        found[name] = min((int(value) for value in values if value is not None), default=None)
    return found
