"""Queries on a session that the user brings: it works, and their session stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from penstock.errors import HostError
from penstock.model.timestamps import to_ticks
from penstock.spark.engine import Engine
from penstock.spark.session import PARTITIONS
from penstock.spark.shipping import ARCHIVE
from penstock.spark.working_session import check_usable, working_session

#: What a new session of Spark's has, as far as it is in our queries' way; and a zone.
THEIRS = {
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming."
    "state.HDFSBackedStateStoreProvider",
    "spark.sql.streaming.noDataMicroBatches.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "Europe/Berlin",
    "fs.of.theirs": "value",
}
NOON = datetime(2026, 7, 1, 12)


@pytest.fixture
def yours(spark: SparkSession) -> Iterator[SparkSession]:
    session = spark.newSession()
    for key, value in THEIRS.items():
        session.conf.set(key, value)
    yield session


def test_queries_run_on_a_session_with_sparks_own_settings_and_leave_it_as_it_was(
    yours: SparkSession, tmp_path: Path
) -> None:
    times = [NOON + timedelta(seconds=second) for second in range(4)]
    rows = pl.DataFrame({"k": [1, 2, 3, 4], "naive": times, "ts": times})
    rows = rows.with_columns(pl.col("ts").dt.replace_time_zone("UTC"), pl.col("k").cast(pl.Int32))
    (tmp_path / "rows").mkdir()
    rows.write_parquet(tmp_path / "rows" / "0.parquet")
    read = yours.readStream.schema("k INT, naive TIMESTAMP_NTZ, ts TIMESTAMP")
    given = read.parquet(str(tmp_path / "rows"))
    # Two hours before noon in Berlin's words is noon there.
    table = yours.sql("SELECT 1 AS k, timestamp'2026-07-01 14:00:00' AS since")
    before = dict(yours.conf.getAll)
    engine = Engine(yours)
    engine.stream("s", given, timestamp="ts")
    engine.table("t", table)
    engine.sql(
        "CREATE STREAM p (k INT, ts TIMESTAMP) "
        f"FROM parquet '{tmp_path / 'rows'}' TIMESTAMP BY ts;"
        "CREATE QUERY looked_up AS SELECT s.ts, naive, since, 10 / (s.k - 1) AS x "
        "FROM s JOIN t ON s.k = t.k;"
        "CREATE QUERY counted AS SELECT 10 / (count(*) - 4) AS x FROM p [RANGE 1 MINUTE]"
    )
    engine.start()
    engine.finish()
    # Ours computes NULL where ANSI would raise; times without a zone are in UTC.
    assert engine.query("looked_up").results().rows() == [(NOON, NOON, NOON, None)]
    minute = (NOON, NOON + timedelta(minutes=1))
    assert engine.query("counted").results().select("x", "window_start", "window_end").rows() == [
        (None, *minute)
    ]
    shown = engine.query("looked_up").toDF()
    assert shown.sparkSession is yours
    ticks = shown.select(F.unix_micros("ts"), F.unix_micros("since")).collect()
    assert [tuple(row) for row in ticks] == [(to_ticks(NOON), to_ticks(NOON))]
    assert dict(yours.conf.getAll) == before


def test_a_working_session_has_the_users_settings_with_ours_on_top(yours: SparkSession) -> None:
    yours.conf.set(PARTITIONS, "7")
    session = working_session(yours)
    found = [session.conf.get(key) for key in ("fs.of.theirs", PARTITIONS)]
    assert found == ["value", "7"]
    assert session.conf.get("spark.sql.session.timeZone") == "UTC"
    assert session.sparkContext is yours.sparkContext
    frame = yours.sparkContext.parallelize([(1,)]).toDF(["a"])
    assert frame.sparkSession is yours


def test_a_session_of_spark_connect_is_refused_with_the_line_to_write() -> None:
    class Remote:
        pass

    with pytest.raises(HostError, match="Spark Connect") as caught:
        check_usable(Remote())  # type: ignore[arg-type]
    assert "SparkSession.builder" in str(caught.value.hint)


def test_engines_on_one_session_ship_the_package_once(spark: SparkSession) -> None:
    Engine(spark)
    Engine(spark)
    names = [Path(file).name for file in spark.sparkContext.listFiles]
    assert names.count(ARCHIVE) == 1
