"""Number: rows are numbered in the order in which they arrive here, so that windows can count them.

A stream numbers its own rows; over a filter, a union or a join the operator has to count by itself.
After every block it sends a bound above the numbers so far, and END when the input has ended.
Other punctuation passes.  Spec: window-queries 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.grain import Grain, Grid, both
from penstock.kernel.progress.release import Need, Needs, NotKnown, Times, Waiting
from penstock.kernel.state import State
from penstock.model.punctuation import Punctuation
from penstock.model.schema import ROW_NUM
from penstock.model.timestamps import END

#: Bounds that nobody behind it uses still tell of the end.
_END_ONLY: Grain = frozenset([Grid(END)])


@dataclass
class NumberState(State):
    """How many rows have come."""

    counted: int = 0


class Number(Operator):
    """Adds ROW_NUM, or replaces the one of the input."""

    state: NumberState
    idle_waiting_prone = False

    def __init__(self) -> None:
        super().__init__()
        self.state = NumberState()

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        first = self.state.counted + 1
        self.state.counted += len(block)
        numbers = pl.int_range(first, first + len(block), dtype=pl.Int64, eager=True)
        out.batch(Block(block.rows.drop(ROW_NUM, strict=False).hstack([numbers.alias(ROW_NUM)])))
        out.punctuation(Punctuation(ROW_NUM, self.state.counted + 1))

    def translate(self, punctuation: Punctuation) -> list[Punctuation]:
        passed = [] if punctuation.on == ROW_NUM else [punctuation]
        over = punctuation.is_final and not punctuation.where
        return [*passed, Punctuation(ROW_NUM, END)] if over else passed

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        return (Waiting((), {**times, ROW_NUM: self.state.counted + 1}),)

    def needed(self, on: str, bound: int) -> Needs | None:
        if on == ROW_NUM:
            raise NotKnown  # more rows, of any time and from any input
        return Needs((Need(0, on, bound),))

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        return _END_ONLY if on == ROW_NUM else both(behind(on), _END_ONLY)
