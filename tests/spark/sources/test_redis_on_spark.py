"""FROM redis on Spark, against a real server: a restart replays exactly, and both hosts agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from redis import Redis

from penstock.errors import HostError
from penstock.local.engine import LocalEngine
from penstock.spark import faults
from penstock.spark.engine import Engine
from penstock.spark.faults import InjectedFault
from tests.servers import Server


class Clicks:
    """A stream of clicks on the server, and the script that reads it."""

    def __init__(self, server: Server, key: str) -> None:
        self.uri = f"redis://:hunter2@127.0.0.1:{server.port}/0"
        self.key = key
        self.client: Any = Redis.from_url(self.uri)
        self.added = 0

    def add(self, count: int, **odd: Any) -> None:
        for _ in range(count):
            number, self.added = self.added, self.added + 1
            fields = {"page": f"p{number % 3}", "n": number, "ts": f"2026-01-01 00:00:{number:02}"}
            self.client.xadd(self.key, {**fields, **odd})

    def script(self, query: str, more: str = "") -> str:
        return (
            "CREATE STREAM clicks (page STRING, n BIGINT, ts TIMESTAMP) FROM redis "
            f"'{self.uri}' OPTIONS (key '{self.key}'{more}) TIMESTAMP BY ts; {query}"
        )


@pytest.fixture
def clicks(redis: Server, request: pytest.FixtureRequest) -> Clicks:
    return Clicks(redis, request.node.name)


def test_spark_reads_what_the_local_engine_reads(spark: SparkSession, clicks: Clicks) -> None:
    clicks.add(20)
    clicks.add(2, n="many")
    clicks.add(1, page=b"\xff")
    clicks.add(7)
    text = clicks.script(
        "CREATE QUERY q AS SELECT page, count(*) AS n, sum(n) AS s FROM clicks [RANGE 10 SECONDS] "
        "GROUP BY page",
        ", maxRowsPerTrigger '8'",
    )
    local = LocalEngine()
    local.sql(text)
    local.finish()
    engine = Engine(spark)
    engine.sql(text)
    engine.start()
    engine.finish()
    found, expected = (each.query("q").results().rows() for each in (engine, local))
    assert sorted(found) == sorted(expected) and len(found) > 5
    for each in (engine, local):
        assert (each.counts("clicks").rows, each.counts("clicks").malformed) == (27, 3)
    reasons = {reason for each in engine.rejected_rows for reason in each.rows["reason"]}
    assert "n: 'many' is not a valid BIGINT" in reasons
    assert any(reason.startswith("no row: ") for reason in reasons)


def test_a_restart_replays_exactly(spark: SparkSession, tmp_path: Path, clicks: Clicks) -> None:
    place = faults.folder()
    assert place is not None
    text = clicks.script(
        f"CREATE QUERY q INTO redis '{clicks.uri}' OPTIONS (key '{clicks.key}:out') AS "
        "SELECT n FROM clicks",
        ", maxRowsPerTrigger '5'",
    )
    clicks.add(12)
    faults.arm(place, "sink.written", "fail", occurrence=2)
    for _ in range(3):
        engine = Engine(spark, checkpoint=tmp_path / "checkpoint")
        engine.sql(text)
        try:
            engine.start()
            engine.process_available()
        except (HostError, InjectedFault) as failed:
            assert "fault at" in str(failed)
        finally:
            engine.stop()
        clicks.add(5)  # between a batch and its repetition, too
    assert faults.hits(place)
    faults.disarm(place)
    out = clicks.client.xrange(f"{clicks.key}:out")
    assert sorted(int(entry[b"n"]) for _, entry in out) == list(range(22))


def test_another_key_does_not_continue_a_checkpoint(
    spark: SparkSession, tmp_path: Path, clicks: Clicks
) -> None:
    clicks.add(1)
    text = clicks.script("CREATE QUERY q AS SELECT n FROM clicks")
    for script in (text, text.replace(f"key '{clicks.key}'", "key 'other'")):
        engine = Engine(spark, checkpoint=tmp_path / "checkpoint")
        engine.sql(script)
        if script is not text:
            with pytest.raises(HostError, match="stream clicks, query q changed"):
                engine.start()
        else:
            engine.start()
            engine.process_available()
        engine.stop()


def test_what_the_error_about_removed_entries_offers_goes_on_from_the_checkpoint(
    spark: SparkSession, tmp_path: Path, clicks: Clicks
) -> None:
    text = clicks.script(f"CREATE QUERY q INTO csv '{tmp_path}/out' AS SELECT n FROM clicks")

    def run(text: str) -> None:
        engine = Engine(spark)
        engine.sql(text)
        try:
            engine.start()
            engine.process_available()
        finally:
            engine.stop()

    clicks.add(5)
    run(text)
    clicks.add(5)
    clicks.client.xtrim(clicks.key, maxlen=3, approximate=False)
    with pytest.raises(HostError, match=r"(?s)removed.*OPTIONS \(removed 'skip'\)"):
        run(text)
    run(text.replace(f"key '{clicks.key}'", f"key '{clicks.key}', removed 'skip'"))
    files = (tmp_path / "out").glob("part-*.csv")
    found = [int(line) for file in files for line in file.read_text().split()[1:]]
    assert sorted(found) == [0, 1, 2, 3, 4, 7, 8, 9]


def test_a_server_that_does_not_answer_is_named(spark: SparkSession, clicks: Clicks) -> None:
    clicks.uri = "redis://:hunter2@127.0.0.1:1/0"
    engine = Engine(spark)
    engine.sql(clicks.script("SELECT n FROM clicks"))
    with pytest.raises(HostError) as failed:
        engine.start()
        engine.process_available()
    engine.stop()
    assert "stream `clicks`: cannot read from redis `redis://:***@127.0.0.1:1/0" in str(
        failed.value
    )
    assert "refused" in str(failed.value) and "hunter2" not in str(failed.value)
