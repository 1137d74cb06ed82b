"""Sinks on Spark: what a batch wrote that fails before Spark's commit is not written again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from adbc_driver_postgresql import dbapi
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from redis import Redis

from penstock.errors import HostError
from penstock.io.sinks.sink_kind import Target
from penstock.model.streams import Sink
from penstock.spark import faults
from penstock.spark.delivery.batch_sink import SparkWriterSink
from penstock.spark.engine import Engine
from penstock.spark.faults import InjectedFault
from tests.io.sinks.rows import SMALL, small
from tests.servers import Server
from tests.topics import Topic, once

FILES = 4
ROWS = [(f"k{n % 3}", n) for n in range(FILES * 5)]

#: After the sink has written: nothing of the batch is known to Spark.
FAULTS = [("sink.written", "fail", 2), ("deliver.query", "repeat", 3), ("batch.over", "fail", 4)]


def write_files(folder: Path, numbers: range) -> None:
    folder.mkdir(exist_ok=True)
    for number in numbers:
        rows = ROWS[number * 5 : number * 5 + 5]
        text = "".join(f"{k},{n},2026-01-01 00:00:{n:02}\n" for k, n in rows)
        (folder / f"{number}.csv").write_text(f"k,n,ts\n{text}")


def script(folder: Path, into: str, select: str = "SELECT k, n, ts FROM s") -> str:
    return (
        f"CREATE STREAM s (k STRING, n BIGINT, ts TIMESTAMP) FROM csv '{folder}/in' "
        f"OPTIONS (maxFilesPerTrigger '1') TIMESTAMP BY ts; CREATE QUERY q INTO {into} AS {select}"
    )


def run_into_faults(spark: SparkSession, text: str, checkpoint: Path | None) -> None:
    """Run to the end, started again after every fault."""
    place = faults.folder()
    assert place is not None
    for point, action, occurrence in FAULTS:
        faults.arm(place, point, action, occurrence=occurrence)
    for _ in range(len(FAULTS) + 1):
        engine = Engine(spark, checkpoint=checkpoint)
        try:
            engine.sql(text)
            engine.start()
            engine.finish()
            break
        except (HostError, InjectedFault) as failed:
            assert "fault at" in str(failed)
        finally:
            engine.stop()
    hits = faults.hits(place)
    faults.disarm(place)
    assert {hit.split()[0] for hit in hits} == {point for point, _, _ in FAULTS}


#: What stands after INTO, and what reads the rows that went there.
Place = tuple[str, Callable[[], Any]]


def into_delta(folder: Path, request: pytest.FixtureRequest) -> Place:
    def read() -> list[tuple[Any, ...]]:
        table = DeltaTable(str(folder / "table")).to_pyarrow_table().to_pydict()
        return list(zip(table["k"], table["n"], strict=True))

    return f"delta '{folder}/table'", read


def into_postgres(folder: Path, request: pytest.FixtureRequest) -> Place:
    server: Server = request.getfixturevalue("postgres")
    uri = f"postgresql://ada@127.0.0.1:{server.port}/postgres"

    def read() -> Any:
        with dbapi.connect(uri) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT k, n FROM from_spark")
            return cursor.fetchall()

    return f"postgres '{uri}' OPTIONS (table 'from_spark')", read


def into_redis(folder: Path, request: pytest.FixtureRequest) -> Place:
    server: Server = request.getfixturevalue("redis")
    uri = f"redis://:hunter2@127.0.0.1:{server.port}/0"

    def read() -> list[tuple[str, int]]:
        found: Any = Redis.from_url(uri).xrange("from spark")
        return [(entry[b"k"].decode(), int(entry[b"n"])) for _, entry in found]

    return f"redis '{uri}' OPTIONS (key 'from spark')", read


def into_kafka(folder: Path, request: pytest.FixtureRequest) -> Place:
    topic = Topic(request.getfixturevalue("kafka"), "from-spark", partitions=3)

    def read() -> list[tuple[str, int]]:
        found = topic.read()
        # Each batch that was repeated is there twice, and known.
        assert len(found) == len(ROWS) + len(FAULTS) * 5
        return [(row["k"], row["n"]) for row in once(found)]

    return f"kafka '{topic.brokers}' OPTIONS (topic '{topic.name}')", read


@pytest.mark.parametrize("kind", [into_delta, into_postgres, into_redis, into_kafka])
def test_every_row_is_in_the_sink_once_whatever_batch_is_repeated(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest, kind: Any
) -> None:
    write_files(tmp_path / "in", range(FILES))
    into, read = kind(tmp_path, request)
    # A table of files has its checkpoint with it.
    checkpoint = None if kind is into_delta else tmp_path / "checkpoint"
    run_into_faults(spark, script(tmp_path, into), checkpoint)
    assert sorted(read()) == sorted(ROWS)


def test_a_table_is_continued_by_its_checkpoint_and_refused_if_its_columns_changed(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    write_files(tmp_path / "in", range(2))
    into, read = into_delta(tmp_path, request)
    for upto in (2, 3):
        write_files(tmp_path / "in", range(upto))
        engine = Engine(spark)
        engine.sql(script(tmp_path, into))
        engine.start()
        engine.finish()
    assert sorted(read()) == sorted(ROWS[:15])
    engine = Engine(spark, checkpoint=tmp_path / "other")
    engine.sql(script(tmp_path, into, "SELECT k, n AS m FROM s"))
    with pytest.raises(HostError, match=r"query q: the Delta table .* `m` is missing there"):
        engine.start()
    engine.stop()


def test_a_server_that_fails_ends_the_query_with_its_name_and_the_cause(
    spark: SparkSession, tmp_path: Path, redis: Server, request: pytest.FixtureRequest
) -> None:
    write_files(tmp_path / "in", range(1))
    into, _ = into_redis(tmp_path, request)
    engine = Engine(spark)
    engine.sql(script(tmp_path, into.replace("from spark", "gone")))
    engine.start()
    redis.stop()
    try:
        write_files(tmp_path / "in", range(1, 2))
        with pytest.raises(HostError) as failed:
            engine.process_available()
            engine.process_available()
    finally:
        redis.start()
        engine.stop()
    said = str(failed.value)
    assert "query q: cannot write into redis `redis://:***@127.0.0.1:" in said
    assert "refused" in said and "a restart repeats the batch" in said and "master" not in said
    assert "hunter2" not in said


class Told:
    """Writes down the options that a writer of Spark's is given."""

    def __init__(self) -> None:
        self.options_given: dict[str, Any] = {}

    def createDataFrame(self, rows: Any) -> Told:
        self.write = self
        return self

    def format(self, name: str) -> Told:
        return self

    def options(self, **given: Any) -> Told:
        self.options_given |= given
        return self

    def mode(self, name: str) -> Told:
        return self

    def save(self, *path: str) -> None: ...


@pytest.mark.parametrize(
    ("format", "given", "expected"),
    [
        ("iceberg", {"x": "1"}, {"txnAppId": "c:query q", "txnVersion": 7, "x": "1"}),
        ("iceberg", {"txnAppId": "mine"}, {"txnAppId": "mine", "txnVersion": 7}),
        ("jdbc", {"url": "u"}, {"url": "u"}),
    ],
)
def test_a_writer_of_sparks_is_told_the_application_and_the_batch(
    format: str, given: dict[str, str], expected: dict[str, Any]
) -> None:
    told: Any = Told()
    sink = Sink(format, "somewhere", tuple(given.items()))
    target = Target("query q", sink, SMALL, "c:query q")
    SparkWriterSink(told, target).write(7, small(("a", 1)))
    assert told.options_given == expected
