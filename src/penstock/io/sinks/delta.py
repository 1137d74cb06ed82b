"""INTO delta: a Delta Lake table, written by delta-rs.

A batch is one transaction of the table. Its `txn` action names the application and the batch, as
the Delta protocol provides for streams; a batch whose action the table has is not written again.
The table is made with the query's columns when the query starts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from penstock.errors import HostError, NotExecutable
from penstock.io.extras import check_installed, imported
from penstock.io.sinks.sink_kind import SinkKind, Target, writing
from penstock.io.sinks.tables import as_arrow, check_types, differences
from penstock.kernel.types import arrow_type
from penstock.model.schema import Schema
from penstock.model.streams import Place, Sink
from penstock.model.types import Type
from penstock.redaction import redacted

_NEEDS = ("INTO delta", "deltalake", "delta")


def has_type(of: Type) -> bool:
    """Whether a Delta table can have such a column."""
    return of not in (Type.NULL, Type.INTERVAL) and all(map(has_type, of.parts))


class DeltaTables(SinkKind):
    """`INTO delta 'path'`: a directory of this machine, or a URI with options for its storage."""

    def check(self, sink: Sink, schema: Schema) -> None:
        if not sink.path:
            raise NotExecutable("INTO delta needs a path", hint="INTO delta 'a/directory'")
        if sink.options and not _is_uri(sink.path):
            raise NotExecutable(
                "INTO delta has no options for a directory of this machine",
                hint="options are those of a store, for INTO delta 's3://…'",
            )
        check_types(schema, "INTO delta", has_type)
        check_installed(*_NEEDS)

    def place(self, sink: Place) -> str:
        folder = self.folder(sink)
        return redacted(str(sink.path)) if folder is None else str(folder.resolve())

    def folder(self, sink: Place) -> Path | None:
        return None if _is_uri(str(sink.path)) else Path(str(sink.path))

    def open(self, target: Target) -> DeltaWriter:
        return DeltaWriter(target, self.place(target.sink), self.folder(target.sink))


class DeltaWriter:
    """Appends batches to one table."""

    def __init__(self, target: Target, place: str, folder: Path | None) -> None:
        with imported(*_NEEDS):
            import deltalake
        self._delta: Any = deltalake
        self._target = target
        self._place = place
        with writing(target, place):
            self._table: Any = self._open(folder)
        self._check_columns()

    def _open(self, folder: Path | None) -> Any:
        if folder is not None and folder.is_file():
            raise HostError(f"`{folder}` is a file, and a Delta table is a directory")
        path, storage = str(self._target.sink.path), dict(self._target.sink.options) or None
        tables = self._delta.DeltaTable
        if tables.is_deltatable(path, storage):
            return tables(path, storage_options=storage)
        if folder is not None:
            _check_unused(folder)
            folder.mkdir(parents=True, exist_ok=True)
        return tables.create(path, self._schema(), storage_options=storage)

    def _schema(self) -> Any:
        """The columns of the query, as those of a Delta table."""
        fields = ((column.name, arrow_type(column.type)) for column in self._target.schema)
        return self._delta.Schema.from_arrow(pa.schema(fields))

    def _check_columns(self) -> None:
        found = {field.name: _type_text(field.type) for field in self._table.schema().fields}
        wanted = {field.name: [_type_text(field.type)] for field in self._schema().fields}
        others = [name for name in found if name not in wanted]
        said = differences(wanted, found, only_there=others)
        if said:
            raise HostError(
                f"{self._target.whose}: the Delta table `{self._place}` has other columns: "
                f"{', '.join(said)}",
                hint="name another table after INTO, or select the columns that this one has",
            )
        self._columns = list(found)

    def write(self, batch: int, rows: pl.DataFrame) -> None:
        if not rows.height:
            return
        with writing(self._target, self._place):
            self._table.update_incremental()
            written = self._table.transaction_version(self._target.application)
            if written is not None and written >= batch:
                return
            mark = self._delta.Transaction(self._target.application, batch)
            self._delta.write_deltalake(
                self._table,
                as_arrow(rows.select(self._columns), self._target.schema),
                mode="append",
                commit_properties=self._delta.CommitProperties(app_transactions=[mark]),
            )

    def close(self) -> None:
        """Nothing to do: every batch is complete."""


def _is_uri(path: str) -> bool:
    return "://" in path


def _type_text(of: Any) -> str:
    """A column's type: `long`, or `array<struct<a: long>>`."""
    return _json_text(json.loads(of.to_json()))


def _json_text(of: Any) -> str:
    match of:
        case {"type": "array", "elementType": element}:
            return f"array<{_json_text(element)}>"
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"map<{_json_text(key)}, {_json_text(value)}>"
        case {"type": "struct", "fields": fields}:
            parts = (f"{field['name']}: {_json_text(field['type'])}" for field in fields)
            return f"struct<{', '.join(parts)}>"
    return str(of)


def _check_unused(folder: Path) -> None:
    """Refuse what is there and no Delta table: its files would be mixed with the table's."""
    names = (file.name for file in folder.glob("*"))
    other = min((name for name in names if not name.startswith(("_", "."))), default=None)
    if other is not None:
        raise HostError(
            f"`{folder}` is not a Delta table, and holds `{other}`",
            hint="name another directory after INTO",
        )
