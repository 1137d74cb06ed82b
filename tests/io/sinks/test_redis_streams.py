"""INTO redis, against a real server: a MULTI per batch, each once; what is written can be read."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

import pytest
from redis import Redis

from penstock.errors import HostError, NotExecutable, PenstockError
from penstock.io.sinks.redis_streams import RedisStreams
from penstock.io.sinks.sink_kind import SinkWriter
from penstock.io.sources.redis_source import RedisEntries, block_of
from penstock.kernel.conform import conform
from penstock.local.engine import LocalEngine
from penstock.model.schema import Column, Schema
from penstock.model.streams import Origin, Sink, Stream
from penstock.model.types import Type
from tests.io.sinks.rows import ALL, PARTS, SCHEMA, SMALL, VALUES, rows, small, target, with_parts
from tests.servers import Server


def uri(server: Server) -> str:
    return f"redis://:hunter2@127.0.0.1:{server.port}/0"


def client(server: Server) -> Any:
    return Redis.from_url(uri(server))


@pytest.fixture
def key(redis: Server, request: pytest.FixtureRequest) -> str:
    """A key that nobody else has."""
    return f"{request.node.name} {{odd}} '\""


def opened(server: Server, key: str, application: str = "a1:query q", **options: str) -> SinkWriter:
    given = (("key", key), *options.items())
    return RedisStreams().open(target(Sink("redis", uri(server), given), SMALL, application))


def entries(server: Server, key: str) -> list[tuple[Any, ...]]:
    return [(e.get(b"k"), e.get(b"n")) for _, e in client(server).xrange(key)]


def test_a_row_is_an_entry_and_null_is_left_out(redis: Server, key: str) -> None:
    sink = opened(redis, key)
    sink.write(0, small(("a", 1), ("b", None), (None, None)))
    sink.close()
    assert [fields for _, fields in client(redis).xrange(key)] == [
        {b"k": b"a", b"n": b"1"},
        {b"k": b"b"},
        {b"": b""},
    ]


def test_what_has_parts_is_json_and_exact_numbers_have_all_digits(redis: Server, key: str) -> None:
    sink = Sink("redis", uri(redis), (("key", key),))
    RedisStreams().open(target(sink, PARTS)).write(0, with_parts())
    [first, _, third] = [fields for _, fields in client(redis).xrange(key)]
    assert first[b"price"] == b"1234567890.25"
    assert first[b"clock"] == b"2026-03-01 12:30:00.123456"
    assert json.loads(first[b"visits"]) == [{"page": "/", "ms": 5}, None]
    assert json.loads(first[b"user"])["paid"] == "0.10"
    assert json.loads(first[b"counts"]) == {"k": 1, "é": None}
    assert third == {b"id": b"3"}
    bytes_in_it = Schema.of([Column("x", Type("ARRAY<BINARY>"))])
    with pytest.raises(NotExecutable, match="INTO redis has no type for the column `x`"):
        RedisStreams().check(sink, bytes_in_it)


def test_what_was_written_is_read_as_it_was_in_all_types(redis: Server, key: str) -> None:
    far = (*VALUES[0][:5], float("nan"), float("-inf"), *VALUES[0][7:])
    written = rows(*VALUES, far)
    RedisStreams().open(target(Sink("redis", uri(redis), (("key", key),)), SCHEMA)).write(
        0, written
    )
    stream = Stream("s", SCHEMA.columns, origin=Origin("redis", uri(redis), (("key", key),)))
    source = RedisEntries(stream)
    [page] = source.pages(source.first.id, source.last())
    conformed = conform(stream, block_of(stream, page).rows)
    assert conformed.rejected is None
    assert conformed.rows.with_columns(ts=conformed.rows["ts"].cast(ALL["ts"].dtype)).equals(
        written
    )


def test_a_batch_that_is_repeated_is_written_once_also_after_a_restart(
    redis: Server, key: str
) -> None:
    first = opened(redis, key)
    first.write(7, small(("a", 1)))
    first.write(7, small(("a", 1)))
    first.write(8, small())
    again = opened(redis, key)
    again.write(7, small(("a", 1)))
    again.write(9, small(("b", 2)))
    opened(redis, key, "b2:query q").write(0, small(("c", 3)))
    assert entries(redis, key) == [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]
    assert client(redis).get(f"{key}:penstock:a1:query q") == b"9"


def test_a_batch_that_another_process_wrote_meanwhile_is_not_written_twice(
    redis: Server, key: str
) -> None:
    sink, other = opened(redis, key), opened(redis, key)
    asked = sink._check_type  # type: ignore[attr-defined]

    def between(client: Any) -> None:
        other.write(0, small(("a", 1)))
        asked(client)

    with patch.object(sink, "_check_type", between):
        sink.write(0, small(("a", 1)))
    assert entries(redis, key) == [(b"a", b"1")]


def test_no_more_entries_are_kept_than_wanted(redis: Server, key: str) -> None:
    sink = opened(redis, key, maxlen="100")
    sink.write(0, small(*(("a", n) for n in range(5000))))
    assert 100 <= client(redis).xlen(key) < 1000


def test_a_key_that_is_no_stream_is_refused(redis: Server, key: str) -> None:
    sink = opened(redis, key)
    client(redis).set(key, "text")
    with pytest.raises(HostError, match="the key is a string, not a stream"):
        opened(redis, key)
    with pytest.raises(HostError, match="the key is a string"):
        sink.write(0, small(("a", 1)))
    client(redis).delete(key)
    sink.write(0, small(("a", 1)))
    assert entries(redis, key) == [(b"a", b"1")]


def test_a_server_that_is_gone_is_named_and_one_that_is_back_is_used(
    redis: Server, key: str
) -> None:
    sink = opened(redis, key)
    sink.write(0, small(("a", 1)))
    redis.stop()
    try:
        with pytest.raises(HostError) as failed:
            sink.write(1, small(("b", 2)))
    finally:
        redis.start()
    assert failed.value.message.startswith(
        f"query q: cannot write into redis `redis://:***@127.0.0.1:{redis.port}/0 key {key}`: Err"
    )
    assert "refused" in failed.value.message and "hunter2" not in str(failed.value)
    sink.write(1, small(("b", 2)))
    sink.write(0, small(("a", 1)))
    assert entries(redis, key) == [(b"a", b"1"), (b"b", b"2")]


def test_a_wrong_password_is_not_shown(redis: Server, key: str) -> None:
    wrong = Sink("redis", uri(redis).replace("hunter2", "secret1"), (("key", key),))
    with pytest.raises(HostError, match="cannot write into redis") as failed:
        RedisStreams().open(target(wrong))
    assert "secret1" not in str(failed.value)


@pytest.mark.parametrize(
    ("path", "options", "words"),
    [
        (None, {"key": "k"}, "needs an address"),
        ("localhost:6379", {"key": "k"}, "is not an address of the form redis://"),
        ("redis://:hun/ter2@h", {"key": "k"}, "is not an address"),
        ("redis://h", {}, "needs the key of a stream"),
        ("redis://h", {"key": "k", "group": "g"}, "no option `group`"),
        ("redis://h", {"key": "k", "maxlen": "many"}, "`maxlen` cannot be 'many'"),
    ],
)
def test_what_makes_no_sense_is_refused_when_it_is_declared(
    path: str | None, options: dict[str, str], words: str
) -> None:
    with pytest.raises(PenstockError, match=words) as refused:
        RedisStreams().check(Sink("redis", path, tuple(options.items())), SMALL)
    assert "ter2" not in str(refused.value)


def test_without_the_package_the_extra_is_named() -> None:
    with (
        patch("penstock.io.extras.find_spec", return_value=None),
        pytest.raises(HostError, match=r"penstock\[redis\]"),
    ):
        RedisStreams().check(Sink("redis", "redis://h", (("key", "k"),)), SMALL)


def test_results_are_not_written_where_their_stream_reads() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (k STRING) FROM redis 'redis://:hunter2@h' OPTIONS (key 'a')")
    with pytest.raises(PenstockError, match="would be read as rows") as refused:
        engine.sql(
            "CREATE QUERY q INTO redis 'redis://:hunter2@h' OPTIONS (key 'a') AS SELECT k FROM s"
        )
    assert "hunter2" not in str(refused.value)


def test_times_are_written_in_utc(redis: Server, key: str) -> None:
    engine = LocalEngine()
    key = key.replace("'", "")
    engine.sql("CREATE STREAM s (k STRING, ts TIMESTAMP) TIMESTAMP BY ts")
    engine.sql(
        f"CREATE QUERY q INTO redis '{uri(redis)}' OPTIONS (key '{key}') AS "
        "SELECT ts, ts - ts AS d FROM s"
    )
    engine.push("s", [{"k": "a", "ts": "2026-01-01 12:00:00+02:00"}])
    engine.finish()
    [(_, fields)] = client(redis).xrange(key)
    assert fields == {b"ts": b"2026-01-01 10:00:00.000000", b"d": b"0"}


def test_columns_of_no_type_are_left_out() -> None:
    odd = Schema.of([Column("z", Type.NULL)])
    RedisStreams().check(Sink("redis", "redis://h", (("key", "k"),)), odd)
