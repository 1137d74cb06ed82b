"""What sinks have in common: types and columns that are checked, keys, times that are instants."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping

import polars as pl
import pyarrow as pa

from penstock.errors import NotExecutable, UnknownName
from penstock.kernel.types import arrow_type
from penstock.model.schema import Column, Schema, suggest
from penstock.model.types import Type

_TIME = "%Y-%m-%d %H:%M:%S%.6f"


def check_types(schema: Schema, what: str, has_type: Callable[[Type], bool]) -> None:
    """Refuse columns for which a sink has no type."""
    for column in schema:
        if not has_type(column.type):
            way = _way_out(column)
            raise NotExecutable(
                f"{what} has no type for the column `{column.name}`, which is {column.type}",
                hint=f"write {way}",
            )


def _way_out(column: Column) -> str:
    name, of = column.name, column.type
    if of is Type.NULL:
        return f"CAST(NULL AS INT) AS {name}"
    if of is Type.INTERVAL:
        return f"a number instead: unix_micros(b) - unix_micros(a) AS {name}"
    return f"its parts instead, such as {name}.field, {name}[0] or {name}['key']"


def differences(
    wanted: Mapping[str, Iterable[str]], found: Mapping[str, str], *, only_there: Iterable[str] = ()
) -> list[str]:
    """How a table differs from what is to be written: for each column, the types that will do.

    `only_there` are columns of the table that would be in the way.

    >>> differences({"a": ["long"], "b": ["date"]}, {"a": "string", "c": "long"}, only_there=["c"])
    ['`a` is string there instead of long', '`b` is missing there', '`c` is only there']
    """
    said = []
    for name, types in wanted.items():
        if name not in found:
            said.append(f"`{name}` is missing there")
        elif found[name] not in (usable := list(types)):
            said.append(f"`{name}` is {found[name]} there instead of {' or '.join(usable)}")
    return said + [f"`{name}` is only there" for name in only_there]


def as_arrow(rows: pl.DataFrame, schema: Schema) -> pa.Table:
    """Rows in the types of Arrow that say what the columns are.

    Points in time say that they are UTC, which others would take for local times.
    """
    found = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
    types = (schema[name].type for name in found.column_names)
    return found.cast(
        pa.schema((n, arrow_type(of)) for n, of in zip(found.column_names, types, strict=True))
    )


def key_columns(text: str | None, schema: Schema, what: str) -> tuple[str, ...]:
    """The columns that `key 'a, b'` names; a name with a comma stands in backquotes."""
    if text is None:
        return ()
    names = next(csv.reader([text], quotechar="`", skipinitialspace=True), [])
    known = {name.lower(): name for name in schema.names}
    for name in map(str.strip, names):
        if name.lower() not in known:
            raise UnknownName(
                f"the key of {what} names `{name}`, which the query does not have",
                hint=suggest(name, schema.names),
            )
    if not names:
        raise NotExecutable(f"the key of {what} names no column", hint="key 'a, b'")
    return tuple(dict.fromkeys(known[name.strip().lower()] for name in names))


def text_of(name: str, of: pl.DataType) -> pl.Expr:
    """A column of values without parts as the text that sources read; bytes stay bytes."""
    column = pl.col(name)
    if of in (pl.String(), pl.Binary()):
        return column
    if isinstance(of, pl.Datetime):
        return column.dt.to_string(_TIME)
    if isinstance(of, pl.Duration):
        return column.dt.total_microseconds().cast(pl.String)
    return column.cast(pl.String)
