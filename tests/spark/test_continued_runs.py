"""Runs that were finished and are continued, on a real Spark session."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

from penstock.spark.engine import Engine
from tests.spark.packets import write_file

BEGIN = datetime(2026, 1, 1)


def write(folder: Path, number: int, *seconds: int) -> None:
    folder.mkdir(exist_ok=True)
    times = [BEGIN + timedelta(seconds=second) for second in seconds]
    rows = pl.DataFrame(
        {"k": [1] * len(seconds), "ts": pl.Series(times).dt.replace_time_zone("UTC")}
    )
    write_file(folder / f"{number}.parquet", rows, number)


def finished(spark: SparkSession, folder: Path, window: str) -> Engine:
    engine = Engine(spark, checkpoint=folder / "checkpoint")
    engine.sql(
        f"CREATE STREAM s (k INT, ts TIMESTAMP) FROM parquet '{folder / 'in'}' TIMESTAMP BY ts;"
        f"CREATE QUERY q AS SELECT k, count(*) AS n FROM s {window} GROUP BY k"
    )
    engine.start()
    engine.finish()
    return engine


def answers(engine: Engine) -> list[tuple[int, int]]:
    """Seconds at which windows ended, and the rows in them."""
    results = engine.query("q").results().select("window_end", "n").sort("window_end")
    return [(int((end - BEGIN).total_seconds()), n) for end, n in results.rows()]


def test_files_added_to_a_finished_job_are_read(spark: SparkSession, tmp_path: Path) -> None:
    window = "[RANGE 10 SECONDS]"
    write(tmp_path / "in", 1, 1, 2, 25)
    first = finished(spark, tmp_path, window)
    assert answers(first) == [(10, 2), (30, 1)]
    write(tmp_path / "in", 2, 27, 31, 45)
    second = finished(spark, tmp_path, window)
    assert answers(second) == [(40, 1), (50, 1)]
    counts = second.counts("s")
    assert (counts.late, counts.closed) == (1, 1)  # the row of the window that was answered
    third = finished(spark, tmp_path, window)
    assert answers(third) == []
    write(tmp_path / "in", 3, 50, 3)
    os.utime(tmp_path / "in" / "3.parquet", (1_600_000_000, 1_600_000_000))  # age does not matter
    fourth = finished(spark, tmp_path, window)
    assert answers(fourth) == [(60, 1)]
    assert fourth.counts("s").late == 1


def test_windows_that_end_behind_a_finished_job_have_all_their_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    window = "[RANGE 20 SECONDS SLIDE 5 SECONDS]"
    write(tmp_path / "in", 1, 1, 2)
    first = finished(spark, tmp_path, window)
    assert answers(first) == [(5, 2), (10, 2), (15, 2), (20, 2)]
    write(tmp_path / "in", 2, 7, 22)
    second = finished(spark, tmp_path, window)
    # 7 s is in windows that were answered, and in that up to 25 s.
    assert answers(second) == [(25, 2), (30, 1), (35, 1), (40, 1)]
    assert second.counts("s").closed == 1
