"""PostgresTable: the table that rows go into, and the statements about it.

Names are quoted, and values go beside the statements; nothing that a user wrote becomes SQL. A
table that is there may have further columns, if these can be left out of an INSERT.

Arrays of what has no parts are arrays there, of one dimension; whatever else has parts is JSONB,
which arrives as text and is converted by the server.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from penstock.errors import HostError
from penstock.io.json_text import no_json
from penstock.io.sinks.tables import differences
from penstock.model.schema import Schema
from penstock.model.types import ArrayType, DecimalType, Type

#: What a column is made as, and what else will do in a table that is there.
TYPES = {
    Type.BOOLEAN: ("boolean",),
    Type.TINYINT: ("smallint",),
    Type.SMALLINT: ("smallint",),
    Type.INT: ("integer",),
    Type.BIGINT: ("bigint",),
    Type.FLOAT: ("real",),
    Type.DOUBLE: ("double precision",),
    Type.STRING: ("text", "character varying"),
    Type.BINARY: ("bytea",),
    Type.DATE: ("date",),
    Type.TIMESTAMP: ("timestamp with time zone", "timestamp without time zone"),
    Type.TIMESTAMP_NTZ: ("timestamp without time zone",),
    Type.INTERVAL: ("interval",),
}
JSON = ("jsonb", "json")


def types_of(of: Type) -> tuple[str, ...]:
    """What a column of a type is made as, and what else will do; nothing: there is no such type.

    >>> types_of(Type("ARRAY<DECIMAL(10, 2)>")), types_of(Type("MAP<STRING, INT>"))
    (('numeric[]',), ('jsonb', 'json'))
    """
    if of in TYPES:
        return TYPES[of]
    if isinstance(of, DecimalType):
        return f"numeric({of.precision},{of.scale})", "numeric"
    if isinstance(of, ArrayType) and not of.element.is_nested:
        is_decimal = isinstance(of.element, DecimalType)
        elements = ("numeric",) if is_decimal else types_of(of.element)
        usable = () if of.element is Type.INTERVAL else elements
        return tuple(f"{each}[]" for each in usable)
    return JSON if of.is_nested and no_json(of) is None and not _has_interval(of) else ()


def _has_interval(of: Type) -> bool:
    return of in (Type.INTERVAL, Type.NULL) or any(map(_has_interval, of.parts))


def is_json(of: Type) -> bool:
    """Whether a column is JSON there."""
    return types_of(of) == JSON


#: Where the last batch of every application is noted, beside the tables that it writes.
BATCHES = "penstock_batches"
#: Rows of a batch, until they are put into the table that they are for.
STAGED = "penstock_staged"
#: So many bytes of a name count; PostgreSQL cuts off the rest.
LONGEST_NAME = 63
#: From here on a key may say that two NULLs are the same.
_SAME_NULLS = 15_00_00

_COLUMNS = """
SELECT attname::text,
       format_type(atttypid, CASE WHEN atttypid = 'numeric'::regtype THEN atttypmod END),
       attnotnull AND NOT atthasdef AND attidentity::text = '' AS needed
FROM pg_attribute
WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
#: Unique indexes over plain columns; what is younger than some servers is asked for by name.
_KEYS = """
SELECT i.indexrelid::bigint, a.attname::text,
       coalesce((to_jsonb(i)->>'indnullsnotdistinct')::boolean, FALSE)
FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indisvalid
  AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnkeyatts = i.indnatts
"""


def quoted(name: str) -> str:
    """A name as PostgreSQL takes it literally.

    >>> print(quoted('odd "name"; --'))
    "odd ""name""; --"
    """
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class PostgresTable:
    """A table by its name, with the columns that are written; with a key, rows are upserted."""

    name: str
    namespace: str | None  # what PostgreSQL calls a schema; None: the current one
    columns: Schema
    key: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        return self._within(self.name)

    @property
    def batches(self) -> str:
        return self._within(BATCHES)

    def _within(self, name: str) -> str:
        return (
            quoted(name) if self.namespace is None else f"{quoted(self.namespace)}.{quoted(name)}"
        )

    def placed(self, cursor: Any) -> PostgresTable:
        """The same table with the schema that it is in: ADBC does not follow the search path."""
        if self.namespace is not None:
            return self
        cursor.execute("SELECT current_schema()::text")
        [(current,)] = cursor.fetchall()
        return replace(self, namespace=current)

    def prepare(self, cursor: Any, whose: str) -> bool:
        """Make what is not there, and refuse what does not fit.

        Gives whether NULLs in the key are told apart, so that rows with one cannot be replaced.
        """
        # Two that begin at once would both find nothing, and the second could not make it.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('penstock'))")
        cursor.fetchall()
        if not _answers(cursor, _COLUMNS, self.batches):
            cursor.execute(
                f"CREATE TABLE {self.batches} (application text PRIMARY KEY, batch bigint NOT NULL,"
                " written_at timestamptz NOT NULL DEFAULT now())"
            )
        found = _answers(cursor, _COLUMNS, self.sql)
        if not found:
            self._create(cursor)
            found = _answers(cursor, _COLUMNS, self.sql)
        self._check_columns(found, whose)
        return bool(self.key) and self._tells_nulls_apart(cursor, whose)

    def _create(self, cursor: Any) -> None:
        cursor.execute("SELECT current_setting('server_version_num')::int")
        [(version,)] = cursor.fetchall()
        parts = [f"{quoted(column.name)} {types_of(column.type)[0]}" for column in self.columns]
        if self.key:
            nulls = " NULLS NOT DISTINCT" if version >= _SAME_NULLS else ""
            parts.append(f"UNIQUE{nulls} ({self._key})")
        cursor.execute(f"CREATE TABLE {self.sql} ({', '.join(parts)})")

    def _check_columns(self, found: list[tuple[str, str, bool]], whose: str) -> None:
        wanted = {column.name: types_of(column.type) for column in self.columns}
        needed = [name for name, _, is_needed in found if is_needed and name not in wanted]
        said = differences(wanted, {name: of for name, of, _ in found}, only_there=needed)
        if said:
            raise HostError(
                f"{whose}: the table {self.sql} has other columns: {', '.join(said)}",
                hint="name another table, or select the columns that this one has; further columns "
                "need a default",
            )

    def _tells_nulls_apart(self, cursor: Any, whose: str) -> bool:
        indexes: dict[int, tuple[set[str], bool]] = {}
        for index, column, same_nulls in _answers(cursor, _KEYS, self.sql):
            indexes.setdefault(index, (set(), same_nulls))[0].add(column)
        usable = [same for columns, same in indexes.values() if columns == set(self.key)]
        if not usable:
            raise HostError(
                f"{whose}: the table {self.sql} has no unique key ({', '.join(self.key)})",
                hint=f"CREATE UNIQUE INDEX ON {self.sql} ({self._key}) NULLS NOT DISTINCT",
            )
        return not any(usable)

    @property
    def _key(self) -> str:
        return ", ".join(map(quoted, self.key))

    @property
    def _columns(self) -> str:
        return ", ".join(quoted(name) for name in self.columns.names)

    @property
    def is_staged(self) -> bool:
        """Whether rows go into a table of their own first: to be compared, or converted."""
        return bool(self.key) or any(is_json(column.type) for column in self.columns)

    def staging(self) -> str:
        """Makes a table for the rows of one batch, with the same types, and text for JSON."""
        columns = (
            f"{name}::text AS {name}" if is_json(column.type) else name
            for column in self.columns
            if (name := quoted(column.name))
        )
        return (
            f"CREATE TEMPORARY TABLE {quoted(STAGED)} ON COMMIT DROP AS "
            f"SELECT {', '.join(columns)} FROM {self.sql} WITH NO DATA"
        )

    def insertion(self) -> str:
        """Puts the rows of that table into this one, each in place of that with the same key."""
        columns = (
            f"{name}::json" if is_json(column.type) else name
            for column in self.columns
            if (name := quoted(column.name))
        )
        statement = (
            f"INSERT INTO {self.sql} ({self._columns}) "
            f"SELECT {', '.join(columns)} FROM pg_temp.{quoted(STAGED)}"
        )
        if not self.key:
            return statement
        others = [quoted(name) for name in self.columns.names if name not in self.key]
        changes = ", ".join(f"{name} = EXCLUDED.{name}" for name in others)
        do = f"DO UPDATE SET {changes}" if others else "DO NOTHING"
        return f"{statement} ON CONFLICT ({self._key}) {do}"


def _answers(cursor: Any, question: str, value: str) -> list[Any]:
    cursor.execute(question, (value,))
    return list(cursor.fetchall())
