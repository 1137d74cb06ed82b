"""State that stands beside an operator: it can be listed, saved, restored and moved.

An operator's state is a dataclass whose fields are either *tables*, lists of immutable segments of
rows, or *facts*, small values that JSON can hold. Segments are appended and dropped, never
rewritten, so that what a step costs follows what is new. Saved state is JSON and Arrow IPC, nothing
that could run code when it is read.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal
from uuid import uuid4

import polars as pl


@dataclass(frozen=True, eq=False)
class Segment:
    """Rows that were written once; those at its front may since have been purged.

    `id` names the rows as they were written, for ever and everywhere, so that a host that keeps
    segments in a store can tell which ones it has.
    """

    whole: pl.DataFrame
    id: int = field(default_factory=lambda: uuid4().int >> 65)  # 63 bits: a signed 64-bit integer
    purged: int = 0

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The rows that are left; shares their memory."""
        return self.whole.slice(self.purged) if self.purged else self.whole

    def without_front(self, count: int) -> Segment:
        """The same without its first rows."""
        return Segment(self.whole, self.id, self.purged + count)


@dataclass
class Table:
    """Immutable segments, oldest first."""

    segments: list[Segment] = field(default_factory=list)

    def append(self, rows: pl.DataFrame) -> None:
        """Add a segment of new rows."""
        if rows.height:
            self.segments.append(Segment(rows))

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """The rows of each segment."""
        return (segment.rows for segment in self.segments)

    @property
    def rows(self) -> int:
        return sum(rows.height for rows in self)

    @property
    def bytes(self) -> int:
        return sum(int(rows.estimated_size()) for rows in self)


@dataclass(frozen=True)
class TableSize:
    """How much a table holds."""

    table: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class SavedState:
    """State as plain data: facts for JSON, one Arrow IPC stream per segment."""

    facts: dict[str, Any]
    tables: dict[str, list[bytes]]


@dataclass
class State:
    """Root of the states; one without fields is no state at all."""

    def sizes(self) -> list[TableSize]:
        """Every table with its rows and bytes."""
        return [TableSize(name, table.rows, table.bytes) for name, table in self.tables()]

    def save(self) -> SavedState:
        return SavedState(
            # Copied: the operator goes on changing its lists and dicts.
            facts=deepcopy(self.facts()),
            tables={name: [to_ipc(rows) for rows in table] for name, table in self.tables()},
        )

    def restore(self, saved: SavedState) -> None:
        for name, value in deepcopy(saved.facts).items():
            setattr(self, name, value)
        for name, segments in saved.tables.items():
            setattr(self, name, Table([Segment(from_ipc(segment)) for segment in segments]))

    def facts(self) -> dict[str, Any]:
        """The small values, by name."""
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in named.items() if not isinstance(value, Table)}

    def tables(self) -> Iterator[tuple[str, Table]]:
        """The tables, by name."""
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, Table):
                yield name, value

    def holds_rows(self) -> bool:
        """Whether a table has any; operators are asked at every turn what they hold."""
        return any(isinstance(value, Table) and value.segments for value in vars(self).values())


def to_ipc(
    rows: pl.DataFrame, compression: Literal["uncompressed", "lz4"] = "uncompressed"
) -> bytes:
    """Rows as an Arrow IPC stream."""
    sink = io.BytesIO()
    rows.write_ipc_stream(sink, compression=compression)
    return sink.getvalue()


def from_ipc(data: bytes) -> pl.DataFrame:
    """Rows from an Arrow IPC stream."""
    return pl.read_ipc_stream(io.BytesIO(data))
