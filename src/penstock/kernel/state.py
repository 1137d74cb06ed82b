"""State that stands beside an operator: it can be listed, saved, restored and moved.

An operator's state is a dataclass whose fields are either *tables*, lists of immutable segments of
rows (`segments`), or *facts*, small values that JSON can hold. Segments are appended and dropped,
never rewritten, so that what a step costs follows what is new. Saved state is JSON and Arrow IPC
(`runtime/snapshot.py`), nothing that could run code when it is read.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import polars as pl

from penstock.kernel.segments import Segment, SegmentTable


@dataclass(frozen=True)
class TableDescription:
    """What a table holds: its columns and their types, how much, and of which times.

    `extent` is the column that tells the time, its least and its greatest value; None where no
    column does, or there are no rows.
    """

    table: str
    rows: int
    bytes: int
    columns: tuple[tuple[str, str], ...] = ()
    extent: tuple[str, int, int] | None = None


@dataclass
class State:
    """Root of the states; one without fields is no state at all."""

    def sizes(self) -> list[TableDescription]:
        """Every table with its rows and bytes, which are quickly told."""
        return [TableDescription(name, t.rows, t.bytes) for name, t in self.tables()]

    def describe(self) -> list[TableDescription]:
        """The same with columns and times, for whoever looks at it."""
        found = []
        for size, (_, table) in zip(self.sizes(), self.tables(), strict=True):
            schema = table.segments[0].whole.schema if table.segments else {}
            columns = tuple((name, str(of)) for name, of in schema.items())
            times = table.extent()
            extent = None if table.on is None or times is None else (table.on, *times)
            found.append(replace(size, columns=columns, extent=extent))
        return found

    def restore_tables(self, tables: Mapping[str, list[Segment]]) -> None:
        """Put these segments in place of what is there.

        As other tables: whoever has computed something from one can tell that it is gone.
        """
        for name, segments in tables.items():
            setattr(self, name, SegmentTable(segments, getattr(self, name).on))

    def facts(self) -> dict[str, Any]:
        """The small values, by name."""
        named = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in named.items() if not isinstance(value, SegmentTable)}

    def tables(self) -> Iterator[tuple[str, SegmentTable]]:
        """The tables, by name."""
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, SegmentTable):
                yield name, value

    def holds_rows(self) -> bool:
        """Whether a table has any; operators are asked at every turn what they hold."""
        return any(
            isinstance(value, SegmentTable) and value.segments for value in vars(self).values()
        )


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
