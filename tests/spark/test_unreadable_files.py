"""OPTIONS (unreadable 'skip') on Spark: files that cannot be read are listed, and lose nothing."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.errors import HostError, NotExecutable
from penstock.spark import faults
from penstock.spark.engine import Engine
from penstock.spark.state.checkpoint_status import checkpoint_status
from tests.spark.packets import write_file

START = datetime(2026, 1, 1)
#: One that groups compute, and one that tasks compute as they read.
QUERIES = {
    "counted": "SELECT count(*) AS n, sum(k) AS k FROM s [RANGE 10 SECONDS]",
    "picked": "SELECT k FROM s",
}
#: What they answer of files by their numbers.
ANSWERS = {
    "counted": lambda files: {(10, sum(range(n * 10, n * 10 + 10))) for n in files},
    "picked": lambda files: {(k,) for n in files for k in range(n * 10, n * 10 + 10)},
}


def rows(number: int) -> pl.DataFrame:
    numbers = range(number * 10, number * 10 + 10)
    times = [START + timedelta(seconds=k) for k in numbers]
    return pl.DataFrame({"k": list(numbers), "ts": times}).with_columns(
        pl.col("ts").dt.replace_time_zone("UTC")
    )


def write(folder: Path, number: int) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / f"a {number}.parquet"  # a name that addresses escape
    write_file(file, rows(number), number)
    return file


def damage(file: Path) -> Path:
    content, age = file.read_bytes(), file.stat().st_mtime
    file.write_bytes(content[: len(content) // 2])
    os.utime(file, (age, age))
    return file


def started(spark: SparkSession, folder: Path, query: str, options: str = "") -> Engine:
    engine = Engine(spark)
    engine.sql(
        f"CREATE STREAM s (k BIGINT, ts TIMESTAMP) FROM parquet '{folder / 'in'}' "
        f"OPTIONS (maxFilesPerTrigger '2'{options}) TIMESTAMP BY ts SLACK 1 DAY;"
        f"CREATE QUERY q INTO parquet '{folder / 'out'}' AS {QUERIES[query]}"
    )
    engine.start()
    return engine


def skipping(spark: SparkSession, folder: Path, query: str) -> Engine:
    return started(spark, folder, query, ", unreadable 'skip'")


def answered(folder: Path, query: str, files: set[int]) -> None:
    written = pl.read_parquet(folder / "out" / "*.parquet")
    found = written.drop("window_start", "window_end", strict=False).rows()
    assert len(found) == len(set(found))
    assert set(found) == ANSWERS[query](files)


@pytest.mark.parametrize("query", ["counted", pytest.param("picked", marks=pytest.mark.slow)])
def test_a_file_that_cannot_be_read_is_skipped_and_read_when_it_has_changed(
    spark: SparkSession, tmp_path: Path, query: str
) -> None:
    for number in range(4):
        write(tmp_path / "in", number)
    bad = damage(tmp_path / "in" / "a 1.parquet")
    stopped = started(spark, tmp_path, query)
    with pytest.raises(HostError, match="unreadable 'skip'"):
        stopped.process_available()
    stopped.stop()

    # The same checkpoint goes on with the option.
    os.mkfifo(tmp_path / "in" / "pipe.parquet")
    first = skipping(spark, tmp_path, query)
    first.process_available()
    listed = first.status().streams["s"].unreadable
    assert listed.keys() == {str(bad), str(tmp_path / "in" / "pipe.parquet")}
    assert "cannot read" in listed[str(bad)]
    assert "not a regular file" in listed[str(tmp_path / "in" / "pipe.parquet")]
    assert str(bad) in repr(first.status())
    first.stop()
    outside = checkpoint_status(tmp_path / "out" / "_checkpoint")
    assert outside.streams["s"]["unreadable"] == listed and str(bad) in str(outside)

    # It is known after a restart; and another file by the same name is read, once.
    second = skipping(spark, tmp_path, query)
    assert second.status().streams["s"].unreadable == listed
    write(tmp_path / "in", 1)
    (tmp_path / "in" / "pipe.parquet").unlink()
    write(tmp_path / "in", 4)
    while str(bad) in second.status().streams["s"].unreadable:
        second.process_available()
    second.finish()
    answered(tmp_path, query, {0, 1, 2, 3, 4})


@pytest.mark.parametrize("query", ["picked", pytest.param("counted", marks=pytest.mark.slow)])
def test_a_batch_that_is_repeated_skips_the_same_files(
    spark: SparkSession, tmp_path: Path, query: str
) -> None:
    place = faults.folder()
    assert place is not None
    for number in range(3):
        write(tmp_path / "in", number)
    bad = damage(tmp_path / "in" / "a 1.parquet")
    for point, action in (("unreadable.written", "fail"), ("unreadable.batch", "repeat")):
        faults.arm(place, point, action, occurrence=1)
    # Results of the first batch are written, and Spark does not commit it.
    faults.arm(place, "deliver.over", "fail", occurrence=1, times=1000)
    first = skipping(spark, tmp_path, query)
    with pytest.raises(HostError):
        first.process_available()
    first.stop()
    faults.disarm(place)

    write(tmp_path / "in", 1)  # the batch begins again, with a file that can be read by now
    second = skipping(spark, tmp_path, query)
    while str(bad) in second.status().streams["s"].unreadable:
        second.process_available()
    second.finish()
    answered(tmp_path, query, {0, 1, 2})


def test_files_that_spark_reads_itself_cannot_be_skipped(
    spark: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path / "in", 0)
    engine = Engine(spark)
    engine.sql(
        f"CREATE STREAM s (k BIGINT, ts TIMESTAMP) FROM parquet '{tmp_path / 'in'}' "
        "OPTIONS (unreadable 'skip', mergeSchema 'true') TIMESTAMP BY ts;"
        "CREATE QUERY q AS SELECT k FROM s"
    )
    with pytest.raises(NotExecutable, match="that Spark reads cannot be skipped"):
        engine.start()
