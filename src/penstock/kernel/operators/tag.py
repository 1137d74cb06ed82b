"""Tag: rows say by which input of a union they came.

For those behind a union that watch its inputs one by one. Punctuation passes unchanged.
"""

from __future__ import annotations

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.operator import Output
from penstock.kernel.operators.passing import Passing

#: The number of the input.
SOURCE = "__source"


class Tag(Passing):
    """Adds SOURCE."""

    def __init__(self, source: int) -> None:
        super().__init__()
        self._source = source

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        out.batch(Block(block.rows.with_columns(pl.lit(self._source, pl.UInt16).alias(SOURCE))))
