"""FROM redis, against a real server: entries by their ids, each once; lost ones are an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from redis import Redis

from penstock.errors import HostError, PenstockError
from penstock.io.sources.redis_source import EntryOffset, RedisEntries, RedisSource, as_text
from penstock.local.engine import LocalEngine
from penstock.model.schema import Column
from penstock.model.streams import Origin, Stream
from penstock.model.types import Type
from tests.servers import Server

COLUMNS = (Column("Page", Type.STRING), Column("n", Type.INT), Column("raw", Type.BINARY))


class Log:
    """A stream on the server."""

    def __init__(self, server: Server, key: str) -> None:
        self.uri = f"redis://:hunter2@127.0.0.1:{server.port}/0"
        self.key = key
        self.client: Any = Redis.from_url(self.uri)

    def add(self, number: int, **fields: Any) -> None:
        self.client.xadd(self.key, fields or {"n": number}, id=f"{number}-0")

    def stream(self, **options: str) -> Stream:
        given = (("key", self.key), *options.items())
        return Stream("s", COLUMNS, origin=Origin("redis", self.uri, given))

    def entries(self, **options: str) -> RedisEntries:
        return RedisEntries(self.stream(**options))

    def declared(self, columns: str, more: str = "") -> str:
        return (
            f"CREATE STREAM s ({columns}) FROM redis '{self.uri}' OPTIONS (key '{self.key}'{more})"
        )


@pytest.fixture
def log(redis: Server, request: pytest.FixtureRequest) -> Log:
    return Log(redis, request.node.name.replace("'", ""))


def at(number: int) -> EntryOffset:
    """Behind the entry of that number, if none was added before the first."""
    return EntryOffset((number, 0), number)


def numbers(entries: RedisEntries, behind: int, to: int, size: int = 2) -> list[int]:
    pages = entries.pages((behind, 0), (to, 0), size)
    return [number for page in pages for (number, _), _ in page]


def test_what_lies_between_two_ids_is_read_however_often(log: Log) -> None:
    for number in range(1, 8):
        log.add(number)
    entries = log.entries()
    assert entries.newest(entries.first) == at(7)
    for _ in range(2):
        assert numbers(entries, 0, 5) == [1, 2, 3, 4, 5]
        assert numbers(entries, 5, 7) == [6, 7]
    assert entries.newest(at(7)) == at(7)
    assert numbers(entries, 7, 7) == []


def test_a_batch_is_no_longer_than_wanted(log: Log) -> None:
    for number in range(1, 8):
        log.add(number)
    entries = log.entries(maxRowsPerTrigger="3")
    behind, ends = entries.first, []
    while (end := entries.newest(behind)) != behind:
        ends.append(as_text(end.id))
        behind = end
    assert ends == ["3-0", "6-0", "7-0"]
    assert behind == at(7)


def test_a_stream_that_is_not_there_yet_has_no_entries(log: Log) -> None:
    entries = log.entries()
    assert entries.newest(entries.first) == entries.first
    log.add(1)
    assert entries.newest(entries.first) == at(1)


def test_reading_may_begin_behind_an_entry(log: Log) -> None:
    for number in range(1, 5):
        log.add(number)
    [block] = RedisSource().blocks(log.stream(start="2-0"), 100)
    assert [_row(row)["n"] for row in block.rows] == ["3", "4"]


def _row(row: Any) -> Mapping[str, Any]:
    assert isinstance(row, Mapping)
    return row


def test_entries_that_were_removed_before_they_were_read_are_missed(log: Log) -> None:
    for number in range(1, 8):
        log.add(number)
    log.client.xtrim(log.key, minid="4-0", approximate=False)
    entries = log.entries()
    assert entries.newest(entries.first) == at(7)  # from the beginning, as far as there is one
    assert entries.newest(at(3)) == at(7)
    assert entries.newest(at(5)) == at(7)
    with pytest.raises(HostError, match="behind 2-0 were removed before they were read"):
        entries.newest(at(2))
    with pytest.raises(HostError, match="were removed"):
        entries.check_whole(at(1))
    assert log.entries(removed="skip").newest(at(2)) == at(7)


def test_a_stream_that_is_emptied_behind_its_reader_goes_on(log: Log) -> None:
    log.add(1)
    log.client.xtrim(log.key, maxlen=0, approximate=False)
    assert log.entries().newest(at(1)) == at(1)
    log.add(2)
    assert log.entries().newest(at(1)) == at(2)
    log.add(3)
    log.client.xdel(log.key, "2-0")
    with pytest.raises(HostError, match="behind 1-0 were removed"):
        log.entries().newest(at(1))
    assert log.entries().newest(at(2)) == at(3)


def test_a_stream_that_began_again_with_lower_ids_is_noticed(log: Log) -> None:
    log.add(5)
    with pytest.raises(HostError, match="ends with the entry 5-0, and 9-0 was read already"):
        log.entries().newest(at(9))


def test_fields_are_columns_and_what_does_not_conform_is_counted(log: Log) -> None:
    log.add(1, page="home", N="1", raw=b"\xff\x00", other="x")
    log.add(2, page="", n="2.0")
    log.add(3, page="x", n="many")
    log.add(4, page=b"\xff", n="4")
    log.add(5, other="x")
    engine = LocalEngine()
    engine.sql(log.declared("Page STRING, n INT, raw BINARY"))
    query = engine.sql("SELECT Page, n, raw FROM s")
    assert list(engine.read_files()) == [("s", 4)]
    engine.finish()
    assert query.results().rows() == [
        ("home", 1, b"\xff\x00"),
        ("", 2, None),
        (None, None, None),
    ]
    reasons = [reason for each in engine.rejected_rows for reason in each.rows["reason"]]
    assert "n: 'many' is not a valid INT" in reasons
    assert any(reason.startswith("no row: 4-0 {") for reason in reasons)
    assert (engine.counts("s").rows, engine.counts("s").malformed) == (3, 2)


def test_windows_over_a_stream_of_redis(log: Log) -> None:
    for number in range(1, 31):
        log.add(number, ts=f"2026-01-01 00:00:{number:02}")
    engine = LocalEngine()
    engine.sql(f"{log.declared('ts TIMESTAMP')} TIMESTAMP BY ts")
    query = engine.sql("SELECT count(*) AS n FROM s [RANGE 10 SECONDS]")
    engine.finish()
    assert query.results()["n"].to_list() == [9, 10, 10, 1]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (", start 'now'", "`start` cannot be 'now'"),
        (", removed 'ignore'", "`removed` cannot be 'ignore'"),
        (", maxRowsPerTrigger '0'", "`maxrowspertrigger` cannot be '0'"),
        (", group 'g'", "no option `group`"),
    ],
)
def test_options_that_make_no_sense_are_refused(log: Log, more: str, words: str) -> None:
    engine = LocalEngine()
    engine.sql(log.declared("n INT", more))
    with pytest.raises(PenstockError, match=words):
        list(engine.read_files())


def test_a_server_that_is_gone_is_named(redis: Server, log: Log) -> None:
    entries = log.entries()
    redis.stop()
    try:
        with pytest.raises(HostError) as failed:
            entries.newest(entries.first)
    finally:
        redis.start()
    assert failed.value.message.startswith(
        f"stream `s`: cannot read from redis `redis://:***@127.0.0.1:{redis.port}/0 key {log.key}`"
    )
    assert "hunter2" not in str(failed.value)
    assert entries.newest(entries.first) == entries.first
