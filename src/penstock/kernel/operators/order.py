"""Order: rows come out sorted, each as soon as no lower one can come.

Rows wait in segments sorted by time; a bound releases those below it, in order, and is passed
on after them. A row at the bound waits: others at the same time may still come. A row without a
time has no place in the order and passes at once. Segments of about one size are merged, so that a
row is copied a logarithmic number of times.

A bound of another column that progresses holds for rows that have come as well, and some of them
wait here. So it is passed on as far as these allow.
Spec: window-queries 7.1, 7.3 (hidden costs of order).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Operator, Output
from penstock.kernel.operators.least_held import LeastHeld
from penstock.kernel.progress.grain import UNUSED, Grain
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.segments import SegmentTable, table
from penstock.kernel.state import State
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING


@dataclass
class OrderState(State):
    """Rows that wait, and the bound below which none do; bounds of others, and what was sent."""

    waiting: SegmentTable = table()
    bound: int = BEGINNING
    others: dict[str, int] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)


class Order(Operator):
    """Sorts by a progressing column; `others` progress as well."""

    state: OrderState

    def __init__(self, on: str, others: Sequence[str] = ()) -> None:
        super().__init__()
        self.state = OrderState(SegmentTable(on=on))
        self._on = on
        self._others = others
        self._least = LeastHeld()

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        if on == self._on:
            return None
        return behind(on) if on in self._others else UNUSED

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        rows = block.rows
        if rows.get_column(self._on).null_count():
            out.batch(Block(rows.filter(pl.col(self._on).is_null())))
            rows = rows.drop_nulls(self._on)
        self.state.waiting.append_sorted(rows)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        on, bound = punctuation.on, punctuation.bound
        if on in self._others:
            self.state.others[on] = max(bound, self._other(on))
            self._send(on, out)
        if on != self._on or bound <= self.state.bound:
            return
        self.state.bound = bound
        rows = self.state.waiting.take_in_order(bound)
        if rows is not None:
            out.batch(Block(rows))
        out.punctuation(punctuation)
        for other in self.state.others:
            self._send(other, out)

    def _send(self, on: str, out: Output) -> None:
        """Pass on the bound on another column, as far as the rows that wait allow it."""
        bound = min(self._other(on), self._least.of(self.state.waiting, on))
        if bound > self.state.sent.get(on, BEGINNING):
            self.state.sent[on] = bound
            out.punctuation(Punctuation(on, bound))

    def _other(self, on: str) -> int:
        return self.state.others.get(on, BEGINNING)

    # -- what it waits for --------------------------------------------------------------------

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        waiting = self.state.waiting
        first = waiting.lowest()
        if first is None:
            return ()
        others = {on: self._least.of(waiting, on) for on in self._others}
        return (Waiting((Need(0, self._on, first + 1),), {**others, self._on: first}),)

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        time = times[self._on]
        needs = () if time is None else (Need(0, self._on, time + 1),)
        return (Waiting(needs, times),)

    def needed(self, on: str, bound: int) -> Needs | None:
        need = Need(0, on, bound)
        if on == self._on:
            return Needs((need,))
        if on not in self._others:
            return None
        # Rows that wait here and have less there must leave, and more of them may come.
        low = pl.col(on).to_physical() < bound
        last = [rows.filter(low).get_column(self._on) for rows in self.state.waiting]
        times = [int(values.to_physical()[-1]) for values in last if len(values)]
        leaving = [Need(0, self._on, max(times) + 1)] if times else []
        return Needs((need, *leaving), certain=False)

    def known(self, port: int, on: str) -> int:
        return self.state.bound if on == self._on else self._other(on)
