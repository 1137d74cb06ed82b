"""Merge: union of ordered inputs into one ordered output, by waiting.

Rows pass in the order of their timestamps: a row may go once no input can still bring an earlier
one, which the TSM registers tell (`in_step`). So rows of a busy input wait for a quiet one. Of the
rows that a step takes, those with equal timestamps leave in the order of their ports.

A bound is passed on when the least of the registers has risen and no row is at it. Bounds of other
columns that progress say nothing about the order kept here; rows that wait are in the inputs'
buffers, and bounds behind them wait with them. So the least of what the inputs have brought is a
bound, as in `meld`.
Spec: execution-model 4, window-queries 7.2. The twin that does not wait is `meld`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from penstock.kernel.block import Block, concat
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Output
from penstock.kernel.operators.in_step import InStep
from penstock.kernel.operators.meld import pass_least
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


class Merge(InStep):
    """Sort-merge union on `on`; each input must be ordered on it. `others` progress as well."""

    state: MergeState

    def __init__(self, ports: int, on: str, others: Sequence[str] = ()) -> None:
        super().__init__()
        self.ports = ports
        self.on = on
        self._others = others
        self.ordered_on = [on] * ports
        self.state = MergeState([BEGINNING] * ports)

    @property
    def registers(self) -> list[int]:
        return self.state.registers

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        return None if on == self.on else behind(on)

    def take(self, port: int, blocks: Mapping[int, Block], out: Output) -> None:
        merged = concat(list(blocks.values()))
        if len(blocks) > 1:
            merged = Block(merged.rows.sort(self.on, maintain_order=True))
        out.batch(merged)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        state, on = self.state, punctuation.on
        if on != self.on:
            bounds = state.others.setdefault(on, [BEGINNING] * self.ports)
            pass_least(bounds, port, punctuation, state.others_sent, out)
            return
        self.set_register(port, punctuation)
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
        return self.state.others.get(on, [BEGINNING] * self.ports)[port]


def least(blocks: Sequence[pl.DataFrame], columns: Iterable[str]) -> dict[str, int | None]:
    """The least value of each column; None: there is none."""
    found: dict[str, int | None] = {}
    for name in columns:
        values: list[Any] = [block.get_column(name).to_physical().min() for block in blocks]
        found[name] = min((int(value) for value in values if value is not None), default=None)
    return found
