"""Parquet that cannot be read, or is not what was declared: named, and nothing else lost by it."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.errors import HostError
from penstock.spark.engine import Engine
from tests.spark.packets import write_file

START = datetime(2026, 1, 1)


def rows(numbers: range) -> pl.DataFrame:
    times = [START + timedelta(seconds=k) for k in numbers]
    return pl.DataFrame({"k": list(numbers), "ts": times}).with_columns(
        pl.col("ts").dt.replace_time_zone("UTC")
    )


def started(spark: SparkSession, folder: Path) -> Engine:
    engine = Engine(spark)
    engine.sql(
        f"CREATE STREAM s (k BIGINT, ts TIMESTAMP) FROM parquet '{folder / 'in'}' "
        "OPTIONS (maxFilesPerTrigger '2') TIMESTAMP BY ts;"
        f"CREATE QUERY sums INTO parquet '{folder / 'out'}' AS "
        "SELECT sum(k) AS total, count(*) AS n FROM s [RANGE 10 SECONDS]"
    )
    engine.start()
    return engine


def test_an_unreadable_file_is_named_and_without_it_a_restart_gives_all_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    for number in (0, 1, 2, 4):
        part = rows(range(number * 10, number * 10 + 10))
        write_file(tmp_path / "in" / f"{number}.parquet", part, number)
    bad = tmp_path / "in" / "3.parquet"
    write_file(bad, rows(range(30, 40)), 3)
    cut_off(bad)
    first = started(spark, tmp_path)
    with pytest.raises(HostError, match=r"(?s)3\.parquet.*fix or remove the file") as caught:
        first.finish()
    assert "\n\tat " not in str(caught.value)
    first.stop()
    bad.unlink()
    started(spark, tmp_path).finish()
    answer = pl.read_parquet(tmp_path / "out" / "*.parquet").sort("total")
    assert answer.select("total", "n").rows() == [(45, 10), (145, 10), (245, 10), (445, 10)]


def cut_off(file: Path) -> None:
    """Make it look like parquet up to its middle, and nothing behind."""
    content = file.read_bytes()
    age = file.stat().st_mtime
    file.write_bytes(content[: len(content) // 2])
    os.utime(file, (age, age))


def test_values_of_another_type_are_malformed_where_they_do_not_fit(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    write_file(tmp_path / "in" / "0.parquet", rows(range(3)), 0)
    text = rows(range(3, 6)).with_columns(k=pl.Series(["3", "many", "5"]))
    write_file(tmp_path / "in" / "1.parquet", text, 1)
    engine = started(spark, tmp_path)
    engine.finish()
    answer = pl.read_parquet(tmp_path / "out" / "*.parquet")
    assert answer.select("total", "n").rows() == [(0 + 1 + 2 + 3 + 5, 5)]
    reasons = [why for each in engine.rejected_rows for why in each.rows["reason"]]
    assert reasons == ["k: 'many' is not a valid BIGINT"]
