"""Case: what comes, in which order, in which batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import polars as pl

from penstock.kernel.types import polars_type
from penstock.model.schema import Column
from penstock.model.streams import Stream
from penstock.model.types import Type

Row: TypeAlias = dict[str, Any]
"""As the oracle has them: TIMESTAMP and INTERVAL are ticks, DATE is days."""


@dataclass(frozen=True)
class Batch:
    """Rows of streams in the order of arrival, then punctuation from outside."""

    rows: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    promises: Mapping[str, int] = field(default_factory=dict)
    clock: int = 0  # what it says while they come

    def of(self, stream: Stream) -> tuple[Row, ...]:
        """The rows of a stream with all its columns: those it stamps, by the clock."""
        rows = self.rows.get(stream.name, ())
        stamps = dict.fromkeys(stream.stamped, self.clock)
        return tuple({**row, **stamps} for row in rows) if stamps else rows


@dataclass(frozen=True)
class Case:
    """All batches, before the streams end."""

    batches: tuple[Batch, ...]

    @property
    def size(self) -> int:
        """How many rows come."""
        return sum(len(rows) for batch in self.batches for rows in batch.rows.values())

    def rows(self) -> Iterator[tuple[int, str, int]]:
        """Every row by its place: batch, stream, number in it."""
        for number, batch in enumerate(self.batches):
            for stream, rows in batch.rows.items():
                for place in range(len(rows)):
                    yield number, stream, place


def frame_of(columns: tuple[Column, ...], rows: tuple[Row, ...] | list[Row]) -> pl.DataFrame:
    """Rows in a block's types."""
    return pl.DataFrame(
        [
            pl.Series(column.name, [row[column.name] for row in rows], _given(column.type)).cast(
                polars_type(column.type)
            )
            for column in columns
        ]
    )


def rows_of(frame: pl.DataFrame) -> list[Row]:
    """Rows as the oracle has them, of a block or of results as they are presented."""
    times = [name for name, of in frame.schema.items() if of.is_temporal()]
    return frame.with_columns(pl.col(times).to_physical()).to_dicts()


def _given(of: Type) -> pl.DataType:
    return pl.Int32() if of is Type.DATE else polars_type(of)
