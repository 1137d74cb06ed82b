"""INTO postgres: a table of a PostgreSQL server, written through ADBC.

    OPTIONS (table 'name')              rows are appended
    OPTIONS (table 'name', key 'a, b')  a row replaces the one with the same key: what a query with
                                        early results (EMIT) is for
    schema 's'                          the schema of the table; else the current one

A batch is one transaction: its rows, and its number in the table `penstock_batches` (application,
batch, written_at), which lies in the same schema. A batch that is noted there is not written again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import polars as pl
import pyarrow as pa

from penstock.errors import HostError, NotExecutable
from penstock.io.address import check_address
from penstock.io.extras import check_installed, imported
from penstock.io.json_text import json_text
from penstock.io.place_options import options_of
from penstock.io.sinks.postgres_table import LONGEST_NAME, STAGED, PostgresTable, is_json, types_of
from penstock.io.sinks.sink_kind import SinkKind, Target, writing
from penstock.io.sinks.tables import as_arrow, check_types, key_columns
from penstock.model.schema import Column, Schema
from penstock.model.streams import Place, Sink
from penstock.model.types import Type
from penstock.redaction import redacted

_WHAT = "INTO postgres"
_NEEDS = (_WHAT, "adbc_driver_postgresql", "postgres")
_EXAMPLE = "postgresql://user:password@host:5432/database"
_OPTIONS = ("table", "schema", "key")


class PostgresTables(SinkKind):
    """`INTO postgres 'uri' OPTIONS (table 'name', …)`."""

    def check(self, sink: Sink, schema: Schema) -> None:
        check_address(sink, _WHAT, ("postgresql", "postgres"), _EXAMPLE)
        check_types(schema, _WHAT, lambda of: bool(types_of(of)))
        table = table_of(sink, schema)
        for name in (table.name, table.namespace or "x", *schema.names):
            if not name or "\0" in name or len(name.encode()) > LONGEST_NAME:
                raise NotExecutable(
                    f"PostgreSQL cannot have the name `{name}`",
                    hint=f"names are 1 to {LONGEST_NAME} bytes long: … AS a_shorter_name",
                )
        check_installed(*_NEEDS)

    def place(self, sink: Place) -> str:
        given = options_of(sink, _WHAT, _OPTIONS)
        name = ".".join(given[part] for part in ("schema", "table") if part in given)
        return f"{redacted(str(sink.path))} table {name}"

    def open(self, target: Target) -> PostgresWriter:
        return PostgresWriter(target, self.place(target.sink))


class PostgresWriter:
    """Writes batches to one table, over a connection that is made anew if it breaks."""

    def __init__(self, target: Target, place: str) -> None:
        with imported(*_NEEDS):
            from adbc_driver_postgresql import dbapi
        self._dbapi: Any = dbapi
        self._target = target
        self._place = place
        self._connection: Any = None
        with writing(target, place), self._transaction() as cursor:
            self._table = table_of(target.sink, target.schema).placed(cursor)
            self._tells_nulls_apart = self._table.prepare(cursor, target.whose)

    def write(self, batch: int, rows: pl.DataFrame) -> None:
        if not rows.height:
            return
        self._check_key(rows)
        with writing(self._target, self._place), self._transaction() as cursor:
            if self._is_new(cursor, batch):
                self._put(cursor, rows)

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """A cursor; what is done with it is there in the end, or none of it."""
        try:
            if self._connection is None:
                self._connection = self._dbapi.connect(str(self._target.sink.path))
            with self._connection.cursor() as cursor:
                yield cursor
            self._connection.commit()
        except BaseException:
            self.close()  # which takes everything back, and a broken connection is made anew
            raise

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # one that is broken cannot be closed in order
                connection.close()

    def _check_key(self, rows: pl.DataFrame) -> None:
        """Refuse rows that would be added each time, instead of replacing what is there."""
        if not self._tells_nulls_apart:
            return
        for name in self._table.key:
            if rows.get_column(name).null_count():
                raise HostError(
                    f"{self._target.whose}: the key column `{name}` is NULL in a row, and the key "
                    f"of the table {self._table.sql} takes NULLs for different",
                    hint="make the key UNIQUE NULLS NOT DISTINCT (PostgreSQL 15 and newer), or "
                    f"select coalesce({name}, …)",
                )

    def _is_new(self, cursor: Any, batch: int) -> bool:
        """Note the batch, unless it is; whoever else writes the same one waits here for us."""
        noted = self._table.batches
        cursor.execute(
            f"INSERT INTO {noted} AS noted (application, batch) VALUES ($1, $2) "
            "ON CONFLICT (application) DO UPDATE SET batch = EXCLUDED.batch, written_at = now() "
            "WHERE noted.batch < EXCLUDED.batch RETURNING batch",
            (self._target.application, batch),
        )
        return bool(cursor.fetchall())

    def _put(self, cursor: Any, rows: pl.DataFrame) -> None:
        table = self._table
        if table.key:
            # Of several revisions in a batch the last one counts; one statement takes a key once.
            rows = rows.unique(subset=list(table.key), keep="last", maintain_order=True)
        ready = _as_adbc_takes(rows, table.columns)
        if not table.is_staged:
            cursor.adbc_ingest(table.name, ready, mode="append", db_schema_name=table.namespace)
            return
        cursor.execute(table.staging())
        cursor.adbc_ingest(STAGED, ready, mode="append", temporary=True)
        cursor.execute(table.insertion())


def table_of(sink: Sink, schema: Schema) -> PostgresTable:
    """The table that a sink names, for rows of that schema."""
    given = options_of(sink, _WHAT, _OPTIONS)
    if "table" not in given:
        raise NotExecutable(
            f"{_WHAT} needs the name of a table", hint=f"{_WHAT} '…' OPTIONS (table 'name')"
        )
    return PostgresTable(
        given["table"], given.get("schema"), schema, key_columns(given.get("key"), schema, _WHAT)
    )


def _as_adbc_takes(rows: pl.DataFrame, schema: Schema) -> pa.Table:
    """Rows in the types of Arrow for which ADBC has one of PostgreSQL."""
    texts = [column.name for column in schema if is_json(column.type)]
    plain = Schema.of(
        Column(column.name, Type.STRING) if column.name in texts else column for column in schema
    )
    rows = rows.with_columns(json_text(rows.get_column(name)) for name in texts)
    table = as_arrow(rows, plain)
    narrow = [field.with_type(_NARROW.get(field.type, field.type)) for field in table.schema]
    return table.cast(pa.schema(narrow))


_NARROW = {pa.int8(): pa.int16(), pa.list_(pa.int8()): pa.list_(pa.int16())}
