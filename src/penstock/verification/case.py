"""Case: what comes, in which order, in which batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeAlias

import polars as pl

from penstock.kernel.types import polars_type, shown_type
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.types import Type

Row: TypeAlias = dict[str, Any]
"""As the oracle has them: TIMESTAMP and INTERVAL are ticks, DATE is days."""


@dataclass(frozen=True)
class Batch:
    """Rows of streams in the order of arrival, then punctuation from outside."""

    rows: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    bounds: Mapping[str, int] = field(default_factory=dict)
    clock: int = 0  # what it says while they come

    def of(self, stream: Stream) -> tuple[Row, ...]:
        """The rows of a stream with all its columns: those it stamps, by the clock."""
        rows = self.rows.get(stream.name, ())
        stamps = dict.fromkeys(stream.stamped, self.clock)
        return tuple({**row, **stamps} for row in rows) if stamps else rows

    def with_next(self, other: Batch) -> Batch:
        """This batch and the one behind it as one."""
        names = dict.fromkeys((*self.rows, *other.rows))
        rows = {name: (*self.rows.get(name, ()), *other.rows.get(name, ())) for name in names}
        return Batch(rows, {**self.bounds, **other.bounds}, self.clock)


@dataclass(frozen=True)
class VerificationCase:
    """All batches, before the streams end."""

    batches: tuple[Batch, ...]

    @property
    def size(self) -> int:
        """How many rows come."""
        return sum(len(rows) for batch in self.batches for rows in batch.rows.values())

    def rows_of(self, stream: str) -> list[Row]:
        """All rows of a stream."""
        return [row for batch in self.batches for row in batch.rows.get(stream, ())]

    def with_rows(self, stream: str, rows: Iterable[Row]) -> VerificationCase:
        """Other rows of a stream in the places of those that there are."""
        rest = iter(rows)
        return VerificationCase(
            tuple(
                replace(batch, rows={**batch.rows, stream: tuple(islice(rest, len(mine)))})
                if (mine := batch.rows.get(stream))
                else batch
                for batch in self.batches
            )
        )

    def places(self) -> Iterator[tuple[int, str, int]]:
        """Every row by its place: batch, stream, number in it."""
        for number, batch in enumerate(self.batches):
            for stream, rows in batch.rows.items():
                for place in range(len(rows)):
                    yield number, stream, place


def own_time(stream: Stream) -> str | None:
    """The column in which rows bring along their time; None: they do not."""
    return stream.timestamp if stream.kind is TimestampKind.EXTERNAL else None


def times_of(streams: Mapping[str, Stream], rows: Mapping[str, Sequence[Row]]) -> list[int]:
    """The times that rows bring along."""
    return [
        row[on]
        for name, mine in rows.items()
        if (on := own_time(streams[name])) is not None
        for row in mine
        if row[on] is not None
    ]


def cut(rows: Sequence[Row], places: Iterable[int]) -> list[tuple[Row, ...]]:
    """The rows in order, in pieces that end at the places; there may be empty ones."""
    ends = [*sorted(places), len(rows)]
    return [tuple(rows[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


def frame_of(columns: tuple[Column, ...], rows: tuple[Row, ...] | list[Row]) -> pl.DataFrame:
    """Rows as a program pushes them: with points in time."""
    return pl.DataFrame(
        [
            pl.Series(column.name, [row[column.name] for row in rows], _given(column.type)).cast(
                shown_type(column.type)
            )
            for column in columns
        ]
    )


def rows_of(frame: pl.DataFrame) -> list[Row]:
    """Rows as the oracle has them, of a block or of results as they are presented."""
    return frame.cast({name: _plain(of) for name, of in frame.schema.items()}).to_dicts()


def _given(of: Type) -> pl.DataType:
    return _plain(polars_type(of))


def _plain(of: Any) -> pl.DataType:
    """The type with numbers for times and days, also within others."""
    match of:
        case pl.List():
            return pl.List(_plain(of.inner))
        case pl.Map():
            return pl.Map(_plain(of.key), _plain(of.value))
        case pl.Struct():
            return pl.Struct({field.name: _plain(field.dtype) for field in of.fields})
        case pl.Date():
            return pl.Int32()
        case pl.Datetime() | pl.Duration():
            return pl.Int64()
    assert isinstance(of, pl.DataType)
    return of
