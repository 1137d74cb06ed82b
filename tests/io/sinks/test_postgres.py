"""INTO postgres, against a real server: a transaction per batch, each once; names and values are
never SQL; with a key, rows replace those that were there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timezone
from typing import Any
from unittest.mock import patch

import pytest
from adbc_driver_postgresql import dbapi

from penstock.errors import HostError, NotExecutable, PenstockError
from penstock.io.sinks.postgres import PostgresTables
from penstock.io.sinks.postgres_table import BATCHES, TYPES, quoted, types_of
from penstock.io.sinks.sink_kind import SinkWriter
from penstock.local.engine import LocalEngine
from penstock.model.schema import Column, Schema
from penstock.model.streams import Sink
from penstock.model.timestamps import SECOND
from penstock.model.types import Type
from tests.io.sinks.rows import ALL, PARTS, SCHEMA, SMALL, VALUES, small, target, with_parts
from tests.servers import Server
from tests.ticks import push_ticks


class Database:
    """A schema of its own on the server."""

    def __init__(self, server: Server, namespace: str) -> None:
        self.server = server
        self.namespace = namespace
        self.uri = f"postgresql://ada:hunter2@127.0.0.1:{server.port}/postgres"
        self.run(f"CREATE SCHEMA {quoted(namespace)}")

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        with dbapi.connect(self.uri, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return [] if cursor.description is None else cursor.fetchall()

    def rows(self, table: str = "t", order: str = "1, 2") -> list[tuple[Any, ...]]:
        return self.run(f"SELECT * FROM {self.name(table)} ORDER BY {order}")

    def name(self, table: str) -> str:
        return f"{quoted(self.namespace)}.{quoted(table)}"

    def sink(self, table: str = "t", **options: str) -> Sink:
        given = {"table": table, "schema": self.namespace, **options}
        return Sink("postgres", self.uri, tuple(given.items()))

    def open(
        self,
        table: str = "t",
        schema: Schema = SMALL,
        application: str = "a1:query q",
        **options: str,
    ) -> SinkWriter:
        return PostgresTables().open(target(self.sink(table, **options), schema, application))


@pytest.fixture
def database(postgres: Server, request: pytest.FixtureRequest) -> Iterator[Database]:
    yield Database(postgres, f'{request.node.name[:50]}"')


def test_values_of_all_types_and_odd_names_come_back_and_times_are_utc(database: Database) -> None:
    sink = database.open('odd "table"', SCHEMA)
    sink.write(0, ALL)
    sink.close()
    found = {tuple(row) for row in database.rows('odd "table"')}
    assert found == {
        (*row[:-1], row[-1] and row[-1].replace(tzinfo=timezone.utc)) for row in VALUES
    }


def test_the_table_has_the_types_of_the_query(database: Database) -> None:
    database.open(schema=SCHEMA).close()
    types = database.run(
        "SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attnum > 0 AND attrelid = "
        f"'{database.name('t')}'::regclass ORDER BY attnum"
    )
    assert [of for (of,) in types] == [TYPES[column.type][0] for column in SCHEMA]


@pytest.mark.parametrize("key", [{}, {"key": "id"}])
def test_arrays_are_arrays_other_parts_json(database: Database, key: dict[str, str]) -> None:
    for _ in range(2):
        sink = database.open(schema=PARTS, **key)
        sink.write(0, with_parts())
        sink.close()
    types = database.run(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attnum > 0 AND attrelid = "
        f"'{database.name('t')}'::regclass ORDER BY attnum"
    )
    assert [of for (of,) in types] == [types_of(column.type)[0] for column in PARTS]
    [first, second, third] = database.run(
        "SELECT price::text, clock::text, words, tiny, prices::text, times[1] = "
        "TIMESTAMPTZ '2026-03-01 12:30:00.123456+00', days, flags, "
        "\"user\"->>'name', \"user\"->>'at', counts::text, visits->0->>'page', visits->1 "
        f"FROM {database.name('t')} ORDER BY id"
    )
    assert first[:5] == (
        *("1234567890.25", "2026-03-01 12:30:00.123456"),
        *(["a", None, "'; --"], [1, -128], "{1.125}"),
    )
    assert first[5:] == (
        *(True, [date(2026, 3, 1)], [True, None], 'q"\n', "2026-03-01 12:30:00.123456"),
        *('{"k": 1, "é": null}', "/", "null"),
    )
    assert second[:5] == ("-0.01", None, [], [], "{}")
    assert set(third) == {None}
    database.run(f"ALTER TABLE {database.name('t')} ALTER price TYPE numeric(12, 1)")
    with pytest.raises(HostError, match=r"`price` is numeric\(12,1\) there instead of numeric"):
        database.open(schema=PARTS)


@pytest.mark.parametrize("of", ["MAP<INT, STRING>", "STRUCT<raw: BINARY>", "ARRAY<INTERVAL>"])
def test_what_json_has_no_place_for_is_refused(of: str) -> None:
    schema = Schema.of([Column("x", Type(of))])
    sink = Sink("postgres", "postgresql://127.0.0.1/x", (("table", "t"),))
    with pytest.raises(NotExecutable, match="INTO postgres has no type for the column `x`"):
        PostgresTables().check(sink, schema)


def test_a_batch_that_is_repeated_is_written_once_also_after_a_restart(database: Database) -> None:
    first = database.open()
    first.write(3, small(("a", 1), (None, None)))
    first.write(3, small(("a", 1), (None, None)))
    first.write(4, small())
    again = database.open()
    again.write(3, small(("a", 1), (None, None)))
    again.write(5, small(("b", 2)))
    assert database.rows() == [("a", 1), ("b", 2), (None, None)]
    assert database.run(f"SELECT application, batch FROM {database.name(BATCHES)}") == [
        ("a1:query q", 5)
    ]


def test_a_batch_that_fails_leaves_neither_rows_nor_its_number(database: Database) -> None:
    sink = database.open()
    database.run(f"ALTER TABLE {database.name('t')} ADD CHECK (n < 10)")
    with pytest.raises(HostError, match="violates check constraint"):
        sink.write(0, small(("a", 1), ("b", 11)))
    assert database.rows() == [] == database.rows(BATCHES)
    sink.write(0, small(("a", 1)))
    assert database.rows() == [("a", 1)]


def test_two_applications_append_to_one_table(database: Database) -> None:
    database.open().write(0, small(("a", 1)))
    database.open(application="b2:query q").write(0, small(("b", 2)))
    assert database.rows() == [("a", 1), ("b", 2)]


def test_a_row_replaces_the_one_with_the_same_key(database: Database) -> None:
    sink = database.open(key="K")
    sink.write(0, small(("a", 1), ("b", 1), ("a", 2)))
    sink.write(1, small(("a", 3), (None, 1)))
    sink.write(2, small((None, 2)))
    assert database.rows() == [("a", 3), ("b", 1), (None, 2)]


def test_a_key_of_all_columns_keeps_each_row_once(database: Database) -> None:
    odd = Schema.of([Column("a, b", Type.STRING), Column('"', Type.BIGINT)])
    sink = database.open(schema=odd, key='`a, b`, "')
    rows = small(("x", 1), ("x", 1), ("x", 2)).rename({"k": "a, b", "n": '"'})
    sink.write(0, rows)
    sink.write(1, rows)
    assert database.rows() == [("x", 1), ("x", 2)]


def test_a_table_that_is_there_may_have_columns_of_its_own(database: Database) -> None:
    database.run(
        f"CREATE TABLE {database.name('t')} (id bigserial PRIMARY KEY, n bigint, k varchar(9), "
        "note text DEFAULT 'none', made timestamptz)"
    )
    database.open().write(0, small(("a", 1)))
    assert database.rows() == [(1, 1, "a", "none", None)]


def test_a_table_with_other_columns_is_refused_with_the_differences(database: Database) -> None:
    database.run(f"CREATE TABLE {database.name('t')} (k text, n numeric, must int NOT NULL)")
    wanted = Schema.of([*SMALL, Column("x", Type.DATE)])
    with pytest.raises(HostError) as refused:
        database.open(schema=wanted)
    assert "`n` is numeric there instead of bigint" in refused.value.message
    assert "`x` is missing there" in refused.value.message
    assert "`must` is only there" in refused.value.message


def test_a_table_without_that_key_is_refused_with_the_way_out(database: Database) -> None:
    database.open().close()
    with pytest.raises(HostError, match=r"no unique key \(k\)") as refused:
        database.open(key="k")
    assert refused.value.hint is not None
    database.run(refused.value.hint)
    database.open(key="k").write(0, small((None, 1), ("a", 1)))


def test_a_null_in_a_key_that_tells_nulls_apart_is_refused(database: Database) -> None:
    database.run(f"CREATE TABLE {database.name('t')} (k text UNIQUE, n bigint)")
    sink = database.open(key="k")
    sink.write(0, small(("a", 1)))
    with pytest.raises(HostError, match="key column `k` is NULL"):
        sink.write(1, small((None, 1)))


def test_a_server_that_is_gone_is_named_and_one_that_is_back_is_used(database: Database) -> None:
    sink = database.open()
    sink.write(0, small(("a", 1)))
    database.server.stop()
    try:
        with pytest.raises(HostError) as failed:
            sink.write(1, small(("b", 2)))
        with pytest.raises(HostError, match="Connection refused"):
            database.open()
    finally:
        database.server.start()
    said = failed.value.message
    assert said.startswith("query q: cannot write into postgres `postgresql://ada:***@127.0.0.1:")
    assert f"table {database.namespace}.t`: " in said
    assert "hunter2" not in str(failed.value) + repr(failed.value.__cause__)
    sink.write(1, small(("b", 2)))
    assert database.rows() == [("a", 1), ("b", 2)]


@pytest.mark.parametrize(
    ("path", "options", "words"),
    [
        (None, {"table": "t"}, "needs an address"),
        ("x.db", {"table": "t"}, "is not an address of the form postgresql://"),
        ("postgresql://u:hunter2/@h", {"table": "t"}, "is not an address"),
        ("postgresql://h/d", {}, "needs the name of a table"),
        ("postgresql://h/d", {"table": "t", "mode": "append"}, "no option `mode`"),
        ("postgresql://h/d", {"table": "t", "key": "k, v"}, "names `v`, which the query does not"),
        ("postgresql://h/d", {"table": "t", "key": ""}, "names no column"),
        ("postgresql://h/d", {"table": "t" * 64}, "cannot have the name"),
    ],
)
def test_what_makes_no_sense_is_refused_when_it_is_declared(
    path: str | None, options: dict[str, str], words: str
) -> None:
    with pytest.raises(PenstockError, match=words) as refused:
        PostgresTables().check(Sink("postgres", path, tuple(options.items())), SMALL)
    assert "hunter2" not in str(refused.value)


def test_without_the_package_the_extra_is_named() -> None:
    sink = Sink("postgres", "postgresql://h/d", (("table", "t"),))
    with (
        patch("penstock.io.extras.find_spec", return_value=None),
        pytest.raises(HostError, match=r"penstock\[postgres\]"),
    ):
        PostgresTables().check(sink, SMALL)


def into(database: Database, **options: str) -> str:
    given = {"table": "t", "schema": database.namespace, **options}
    listed = ", ".join(f"{name} '{value}'" for name, value in given.items())
    return f"INTO postgres '{database.uri}' OPTIONS ({listed})"


def pushed(query: str, seconds: Sequence[int]) -> LocalEngine:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (k STRING, ts TIMESTAMP) TIMESTAMP BY ts")
    engine.sql(query)
    for second in seconds:
        push_ticks(engine, "s", [{"k": "x", "ts": second * SECOND}])
    return engine


def test_revisions_are_replaced_by_what_follows_them(database: Database) -> None:
    sink = into(database, key="k, window_start, window_end")
    engine = pushed(
        f"CREATE QUERY q {sink} AS SELECT k, count(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY k "
        "EMIT CHANGES",
        [1, 2, 3, 12],
    )
    shown = f"SELECT n, is_final FROM {database.name('t')} ORDER BY window_end"
    assert database.run(shown) == [(3, True), (1, False)]
    engine.finish()
    assert database.run(shown) == [(3, True), (1, True)]
    assert database.run(f"SELECT min(window_start) FROM {database.name('t')}") == [
        (datetime(1970, 1, 1, tzinfo=timezone.utc),)
    ]


def test_intervals_are_intervals(database: Database) -> None:
    pushed(f"CREATE QUERY q {into(database)} AS SELECT ts - ts AS d, k FROM s", [1]).finish()
    assert database.run(f"SELECT d::text, k FROM {database.name('t')}") == [("00:00:00", "x")]


def test_two_queries_may_write_to_one_server_and_a_column_without_a_type_is_refused(
    database: Database,
) -> None:
    engine = pushed(f"CREATE QUERY p {into(database)} AS SELECT k FROM s", [])
    other = into(database, table="u")
    engine.sql(f"CREATE QUERY q {other} AS SELECT k FROM s")
    with pytest.raises(NotExecutable, match="no type for the column `z`, which is NULL"):
        engine.sql(f"CREATE QUERY r {other} AS SELECT NULL AS z FROM s")
    engine.stop()
