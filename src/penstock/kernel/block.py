"""Block: some rows of a stream, in columns.

Timestamps are integer ticks, whatever the type of their column in SQL. A block is immutable; a
slice of one shares its memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl


@dataclass(frozen=True, eq=False)
class Block:
    """Rows in arrival order."""

    rows: pl.DataFrame
    _firsts: dict[str, int] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return self.rows.height

    def slice(self, start: int, length: int | None = None) -> Block:
        return Block(self.rows.slice(start, length))

    def first(self, column: str) -> int:
        """The value of the first row; remembered, for it is asked for at every step."""
        found = self._firsts.get(column)
        if found is None:
            found = self._firsts[column] = int(self.rows.get_column(column)[0])
        return found

    def last(self, column: str) -> int:
        """The value of the last row."""
        return int(self.rows.get_column(column)[-1])


def concat(blocks: list[Block]) -> Block:
    """One block of several, in order."""
    if len(blocks) == 1:
        return blocks[0]
    return Block(pl.concat([block.rows for block in blocks], rechunk=False))
