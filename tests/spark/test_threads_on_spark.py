"""Threads and subscribers that call an engine on Spark while its micro-batches run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.runtime.status import STOPPED
from penstock.spark.engine import Engine
from tests.spark.packets import script, write_packets

QUERIES = {"counted": "SELECT srcIP, count(*) AS n FROM packets [RANGE 4 SECONDS] GROUP BY srcIP"}
ROWS = 500


def test_threads_and_subscribers_call_an_engine_that_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_packets(tmp_path / "in", range(3), rows=ROWS)
    engine = Engine(spark)
    engine.sql(script(tmp_path / "in", QUERIES))
    seen: list[pl.DataFrame] = []
    is_over = threading.Event()
    failures: list[BaseException] = []

    def ask(rows: pl.DataFrame) -> None:
        if not seen:
            engine.sql("CREATE QUERY late AS SELECT srcIP FROM packets WHERE srcIP IS NULL")
            engine.sql("SHOW QUERIES; EXPLAIN LIVE counted")
        assert engine.status().queries["counted"].state == "running"
        seen.append(rows)

    def look(*calls: Callable[[], object]) -> None:
        try:
            while not is_over.is_set():
                for call in calls:
                    call()
        except BaseException as failure:
            failures.append(failure)

    def declare() -> None:
        engine.sql("CREATE QUERY other AS SELECT srcIP FROM packets WHERE srcIP IS NULL")
        engine.sql("DROP QUERY other")

    engine.query("counted").subscribe(ask)
    engine.start()
    query = engine.query("counted")
    looking = [
        (engine.status, lambda: engine.counts("packets"), lambda: engine.rejected_rows),
        (lambda: engine.sql("EXPLAIN LIVE counted"), lambda: query.lastProgress, query.why),
        (lambda: repr(query), query.explain, lambda: engine.queries, engine.is_idle),
    ]
    threads = [threading.Thread(target=look, args=calls) for calls in looking]
    for thread in threads:
        thread.start()
    try:
        declare()
        engine.finish()
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
        engine.stop()
    for failure in failures:
        raise failure
    assert pl.concat(seen).get_column("n").sum() == 3 * ROWS
    assert {each.name for each in engine.queries} == {"counted", "late"}


def test_a_subscriber_stops_the_engine_after_its_batch(spark: SparkSession, tmp_path: Path) -> None:
    write_packets(tmp_path / "in", range(1), rows=ROWS)
    engine = Engine(spark)
    engine.sql(script(tmp_path / "in", {"rows": "SELECT srcIP FROM packets WHERE len >= 0"}))
    kept: list[object] = []
    engine.query("rows").subscribe(lambda rows: kept.append(engine.stop()))
    engine.start()
    query = engine.query("rows")
    try:
        assert query.awaitTermination(50)
    finally:
        engine.stop()
    assert kept == [[]]
    assert query.status.state == STOPPED
    assert query.exception() is None or isinstance(query.exception(), PenstockError)
    assert query.lastProgress is not None
    assert query.lastProgress["batchId"] >= 0
