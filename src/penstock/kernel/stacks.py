"""Stacks: small tables with the same columns as one table, one below the other.

To write a table as Arrow IPC, or to hand one to Spark, takes about as long for ten rows as for ten
thousand. A thousand queries of a few kinds have a thousand small tables in every batch, so those
that are alike are handled as one, and whoever reads it takes it apart again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import polars as pl

K = TypeVar("K")

#: Bytes from which a table is handled by itself, and of a stack at most.
LARGE, FULL = 64 << 10, 1 << 20


def stacks(tables: Mapping[K, pl.DataFrame]) -> Iterator[list[K]]:
    """The names of tables to be stacked together; a table that is large, or of no kind, alone."""
    open_: dict[object, tuple[list[K], int]] = {}
    for name, table in tables.items():
        size = int(table.estimated_size())
        if size >= LARGE:
            yield [name]
            continue
        # A type that has no parameters is told by its class, which is quickly looked up.
        types = (of if vars(of) else type(of) for of in table.dtypes)
        kind = (*table.columns, *types)
        names, total = open_.get(kind, ([], 0))
        if names and total + size > FULL:
            yield names
            names, total = [], 0
        names.append(name)
        open_[kind] = (names, total + size)
    yield from (names for names, _ in open_.values())


def stacked(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Tables with the same columns as one."""
    return tables[0] if len(tables) == 1 else pl.concat(tables, rechunk=True)


def unstacked(whole: pl.DataFrame, heights: Sequence[int]) -> Iterator[pl.DataFrame]:
    """The tables that were stacked, by how many rows each has; they share its memory."""
    first = 0
    for height in heights:
        yield whole.slice(first, height)
        first += height
