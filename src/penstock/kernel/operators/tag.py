"""Tag: rows say by which input of a union they came.

For those behind a union that watch its inputs one by one. Punctuation passes unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.grain import Grain
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.model.punctuation import Punctuation

#: The number of the input.
SOURCE = "__source"


class Tag(Operator):
    """Adds SOURCE."""

    idle_waiting_prone = False

    def __init__(self, source: int) -> None:
        super().__init__()
        self._source = source

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        out.batch(Block(block.rows.with_columns(pl.lit(self._source, pl.UInt16).alias(SOURCE))))

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        return (Waiting((), times),)

    def needed(self, on: str, bound: int) -> Needs:
        return Needs((Need(0, on, bound),))

    def translate(self, punctuation: Punctuation) -> tuple[Punctuation, ...]:
        return (punctuation,)

    def useful(self, wanted: frozenset[str] | None) -> frozenset[str] | None:
        return wanted

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        return behind(on)
