"""Reading static tables: files and rows of the program, checked and packed once.

A stream rejects a malformed row; a table is read as a whole when it is declared, so one
such row is an error that names it, and nothing has been declared yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from penstock.errors import MalformedRow, NotExecutable
from penstock.io.files import files_of, read_blocks
from penstock.io.iterables import as_frame, is_table, rows_in
from penstock.io.results import SINK_FORMATS
from penstock.io.storage.storage_path import at_hand
from penstock.kernel.conform import Rows, conform
from penstock.kernel.state import to_ipc
from penstock.kernel.types import polars_type, type_of_arrow
from penstock.model.schema import Column
from penstock.model.streams import Origin, Stream
from penstock.model.tables import StaticTable
from penstock.model.types import Type

_ROWS_PER_BLOCK = 1 << 18


def read_table(declared: StaticTable) -> StaticTable:
    """A table with the rows of its files."""
    origin = declared.origin
    if origin.format not in SINK_FORMATS or origin.path is None:
        raise NotExecutable(
            f"cannot read table `{declared.name}` from {origin}",
            hint=f"tables are read from: {', '.join(SINK_FORMATS)}; anything else can be given "
            "in Python: engine.table(name, rows)",
        )
    blocks = []
    with at_hand(origin.path) as place:
        source = _as_stream(replace(declared, origin=replace(origin, path=place)))
        for block in read_blocks(source, _ROWS_PER_BLOCK):
            if block.rejected:
                raise _not_conforming(declared.name, f"`{block.rejected[0]}` is not a row")
            blocks.append(block.rows)
    return _packed(declared, blocks)


def table_of(name: str, rows: Any, columns: Sequence[Column] | None) -> StaticTable:
    """A table of rows that the program has, or of a path that it names."""
    if isinstance(rows, str | Path):
        return _from_path(name, str(rows), columns)
    if is_table(rows):
        frame = as_frame(rows)
        found = columns_of(name, frame) if columns is None else columns
        return _packed(StaticTable(name, tuple(found)), [frame])
    declared = StaticTable(name, tuple(_known(name, columns)))
    stream = _as_stream(declared)
    blocks = [rows_in(stream, item) for item in rows]
    single = [row for block in blocks if not isinstance(block, pl.DataFrame) for row in block]
    frames: list[Rows] = [block for block in blocks if isinstance(block, pl.DataFrame)]
    return _packed(declared, [*frames, single])


def _from_path(name: str, path: str, columns: Sequence[Column] | None) -> StaticTable:
    suffix = Path(path).suffix.removeprefix(".")
    format_ = suffix if suffix in SINK_FORMATS else "parquet"
    if columns is None and format_ == "parquet":
        with at_hand(path) as place:
            columns = columns_of(name, pl.read_parquet(files_of(place, format_)[0], n_rows=0))
    return read_table(StaticTable(name, tuple(_known(name, columns)), Origin(format_, path)))


def columns_of(name: str, frame: pl.DataFrame) -> list[Column]:
    """A table's columns in our types."""
    columns = []
    for column, given in frame.schema.items():
        found = _type_of(given)
        if found is None:
            raise MalformedRow(
                name,
                f"column `{column}` of table `{name}` is {given}, which no query can use",
                hint="leave it out, or cast it",
            )
        columns.append(Column(column, found))
    return columns


def _type_of(given: pl.DataType) -> Type | None:
    arrow = pl.Series([], dtype=given).to_arrow().type
    return None if pa.types.is_null(arrow) else type_of_arrow(arrow)


def _known(name: str, columns: Iterable[Column] | None) -> Iterable[Column]:
    if columns is None:
        raise MalformedRow(
            name,
            f"the columns of table `{name}` are not known",
            hint='declare them: columns="k BIGINT, name STRING"',
        )
    return columns


def _packed(declared: StaticTable, blocks: Iterable[Rows]) -> StaticTable:
    """The table with all blocks in its own columns and types."""
    stream = _as_stream(declared)
    schema = {column.name: polars_type(column.type) for column in declared.columns}
    parts = [pl.DataFrame(schema=schema)]
    for block in blocks:
        if not len(block):
            continue
        if isinstance(block, pl.DataFrame):
            block = block.select(name for name in schema if name in block.columns)
        conformed = conform(stream, block)
        if conformed.rejected is not None:
            raise _not_conforming(declared.name, str(conformed.rejected.get_column("reason")[0]))
        parts.append(conformed.rows.select(list(schema)))
    rows = pl.concat(parts, rechunk=True)
    return declared.holding(to_ipc(rows), rows.height)


def _not_conforming(name: str, reason: str) -> MalformedRow:
    return MalformedRow(
        name,
        f"a row does not conform to table `{name}`: {reason}",
        hint="a table is read as a whole: fix the row, or declare another type",
    )


def _as_stream(table: StaticTable) -> Stream:
    """A stream of the same columns and files, for whoever reads streams."""
    return Stream(table.name, table.columns, origin=table.origin)
