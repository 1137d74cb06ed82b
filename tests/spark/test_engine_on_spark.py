"""Queries on a real Spark session: the local engine's answers, and what happens around them."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.errors import HostError, MalformedRow, NotExecutable
from penstock.model.timestamps import SECOND, to_ticks
from penstock.optimizer.explain import explain_program
from penstock.optimizer.physical import walk
from penstock.spark.engine import Engine
from tests.spark.packets import QUERIES, by_local_engine, same, script, write_file, write_packets

START = to_ticks(datetime(2026, 1, 1))


def test_spark_gives_the_local_engines_answers(spark: SparkSession, tmp_path: Path) -> None:
    write_packets(tmp_path / "in", range(3))
    text = script(tmp_path / "in", QUERIES)
    engine = Engine(spark)
    engine.sql(text)
    engine.start()
    engine.finish()
    expected = by_local_engine(text)
    for name in QUERIES:
        answer = engine.query(name).results()
        assert answer.height > 0
        assert same(answer, expected.query(name).results()), name
    assert engine.counts("packets").rows == 6_000


def by_rows(folder: Path) -> int:
    return pl.read_parquet(folder / "*.parquet").height


def test_a_run_continues_where_it_was_stopped(spark: SparkSession, tmp_path: Path) -> None:
    """Also when queries are declared in another order, and others beside them."""
    queries = {name: QUERIES[name] for name in ("sliding", "subset", "large")}
    beside = {"beside": "SELECT srcIP, min(len) AS m FROM packets [RANGE 4 SECONDS] GROUP BY srcIP"}
    declared = [queries, {**beside, **dict(reversed(queries.items()))}]
    for files, texts in zip((range(0, 2), range(2, 4)), declared, strict=True):
        write_packets(tmp_path / "in", files)
        engine = Engine(spark)
        engine.sql(script(tmp_path / "in", texts, tmp_path / "out"))
        explained = engine.query("sliding").explain()
        engine.start()
        engine.process_available()
        # What EXPLAIN has said is what the groups report.
        assert engine.query("sliding").explain() == explained
        [running] = engine._running
        ids = {plan.id for plan in walk(running.program.plans.values()) if plan.inputs}
        assert {each.name for each in engine.status().operators} == ids
        assert explained.startswith(explain_program(running.program.plans))
        if files.start:
            engine.finish()
        assert engine.stop() is not None
    # This run has counted its own rows, and knows those of both.
    counts, sliding = engine.counts("packets"), engine.query("sliding")
    assert (counts.rows, counts.total.rows) == (4_000, 8_000)
    assert sliding.rows < sliding.total_rows == by_rows(tmp_path / "out" / "sliding")
    expected = by_local_engine(script(tmp_path / "in", queries))
    for name in queries:
        answer = pl.read_parquet(tmp_path / "out" / name / "*.parquet")
        assert same(answer, expected.query(name).results()), name
    assert engine.query("beside").total_rows == by_rows(tmp_path / "out" / "beside") > 0


def test_a_checkpoint_of_other_queries_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_packets(tmp_path / "in", range(1), rows=100)
    text = script(tmp_path / "in", {"all": QUERIES["all"]}, tmp_path / "out")
    engine = Engine(spark)
    engine.sql(text)
    engine.start()
    other = Engine(spark)
    other.sql(text)
    with pytest.raises(HostError, match="in use by another"):
        other.start()
    engine.process_available()
    engine.stop()
    changed = Engine(spark)
    changed.sql(text.replace("5 SECONDS]", "7 SECONDS]"))
    with pytest.raises(HostError, match="belongs to other queries: query all changed"):
        changed.start()


def test_late_rows_are_counted_and_kept_aside(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    moments = {"a": [0, 100], "b": [50, 98, 200], "c": [150, 300]}
    for number, (name, seconds) in enumerate(moments.items()):
        times = [START + second * SECOND for second in seconds]
        rows = pl.DataFrame({"v": seconds, "ts": times}).with_columns(
            pl.col("v").cast(pl.Int64), pl.col("ts").cast(pl.Datetime("us", "UTC"))
        )
        write_file(folder / f"{name}.parquet", rows, number)
    engine = Engine(spark)
    engine.sql(
        f"CREATE STREAM s (v BIGINT, ts TIMESTAMP) FROM parquet '{folder}' "
        "OPTIONS (maxFilesPerTrigger '1', latestFirst 'false') TIMESTAMP BY ts SLACK 5 SECONDS "
        f"LATE INTO parquet '{tmp_path / 'aside'}'"
    )
    query = engine.sql("SELECT sum(v) AS total, count(*) AS n FROM s [RANGE 1000 SECONDS]")
    # One that is spread by v has a pipeline of its own, which judges and counts for itself.
    other = engine.sql("SELECT v, count(*) AS n FROM s [RANGE 1000 SECONDS] GROUP BY v")
    engine.start()
    engine.finish()
    counts = engine.counts("s")
    assert (counts.rows, counts.late) == (5, 2)
    words = (
        "1 of 5 rows of stream `s` is late and was rejected: SLACK 1 MINUTE would have accepted all"
    )
    assert words in caplog.messages
    assert counts.late_by_pipeline == {query.name: 2, other.name: 2}
    late = [v for each in engine.rejected_rows if each.reason == "late" for v in each.rows["v"]]
    assert sorted(late) == [50, 50, 150, 150]
    assert query.results()["total"].sum() == 0 + 100 + 98 + 200 + 300
    assert sorted(other.results()["v"]) == [0, 98, 100, 200, 300]
    theirs = pl.read_parquet(tmp_path / "aside" / other.name / "*.parquet").sort("v")
    assert theirs.select("v", "why").rows() == [(50, "late"), (150, "late")]
    aside = pl.read_parquet(tmp_path / "aside" / "*.parquet").sort("v")
    assert aside.select("v", "why").rows() == [(50, "late"), (150, "late")]
    assert aside["ts"].to_list() == [datetime(2026, 1, 1, 0, 0, 50), datetime(2026, 1, 1, 0, 2, 30)]
    assert aside["set_aside_at"].null_count() == 0
    # What a new checkpoint would add to is another run's.
    again = Engine(spark)
    again.sql(
        f"CREATE STREAM s (v BIGINT, ts TIMESTAMP) FROM parquet '{folder}' TIMESTAMP BY ts "
        f"LATE INTO parquet '{tmp_path / 'aside'}'"
    )
    again.sql("SELECT v FROM s")
    with pytest.raises(HostError, match="holds results already"):
        again.start()


def test_a_dataframe_is_a_stream_and_a_callback_a_sink(spark: SparkSession) -> None:
    frame = (
        spark.readStream.format("rate-micro-batch")
        .options(rowsPerBatch=10, numPartitions=1, advanceMillisPerBatch=1000)
        .load()
    )
    engine = Engine(spark)
    engine.stream("ticks", frame, timestamp="timestamp", slack=timedelta(seconds=0))
    query = engine.sql("SELECT count(*) AS n FROM ticks [RANGE 2 SECONDS]")
    got: list[pl.DataFrame] = []
    query.subscribe(got.append)
    assert (query.status.state, query.isActive) == ("not started", False)
    engine.start()
    while sum(rows.height for rows in got) < 2:
        engine.check()
        time.sleep(0.1)
    engine.stop()
    # What was known last stays known.
    status = query.status
    assert (status.state, status.message, query.exception()) == ("stopped", "Stopped", None)
    progress = query.lastProgress
    assert progress is not None and query.recentProgress[-1]["batchId"] == progress["batchId"]
    [window] = [each for each in engine.status().operators if each.state_rows]
    assert (window.queries, window.rows_in > 0) == ((query.name,), True)
    assert progress["penstock"]["blockers"]["query"] == query.name
    first = pl.concat(got).sort("window_end").head(2)
    assert first["n"].to_list() == [20, 20]
    assert query.results().height == 0


def test_what_cannot_be_read_is_said_before_anything_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    engine = Engine(spark)
    engine.sql(script(tmp_path / "nowhere", {"all": QUERIES["all"]}))
    with pytest.raises(HostError, match="there is nothing at"):
        engine.start()
    with pytest.raises(MalformedRow, match="declares `moment`"):
        other = Engine(spark)
        other.sql("CREATE STREAM r (moment TIMESTAMP, value BIGINT) FROM rate TIMESTAMP BY moment")
        other.sql("SELECT count(*) AS n FROM r [RANGE 1 SECOND]")
        other.start()


def test_a_batch_dataframe_is_no_stream(spark: SparkSession) -> None:
    with pytest.raises(NotExecutable, match="batch DataFrame") as refused:
        Engine(spark).stream("ticks", spark.range(3), timestamp="id")
    assert "readStream" in str(refused.value.hint)


def test_results_that_are_there_are_not_added_to(spark: SparkSession, tmp_path: Path) -> None:
    write_packets(tmp_path / "in", range(1), rows=10)
    (tmp_path / "out" / "all").mkdir(parents=True)
    (tmp_path / "out" / "all" / "part-00000000.parquet").write_bytes(b"")
    engine = Engine(spark)
    engine.sql(script(tmp_path / "in", {"all": QUERIES["all"]}, tmp_path / "out"))
    with pytest.raises(HostError, match="holds results already"):
        engine.start()
