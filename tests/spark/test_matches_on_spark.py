"""MATCH_RECOGNIZE on Spark: matches that go on from batch to batch, by partition, and a restart.

Everything else is tested without Spark (`test_group_host.py`, `tests/kernel/matching`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from pyspark.sql import SparkSession

from penstock.spark.engine import Engine
from tests.spark.packets import by_local_engine, same, write_file

START = 1_700_000_000_000_000
TEXT = """
CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP) FROM parquet '{folder}/in'
OPTIONS (maxFilesPerTrigger '1') TIMESTAMP BY ts SLACK 2 SECONDS;
SET match_rows = 4;
CREATE QUERY falls AS SELECT * FROM s MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts, v
  MEASURES FIRST(ts) AS begun, LAST(UP.ts) AS ended, count(DOWN.*) AS n, min(v) AS low
  AFTER MATCH SKIP TO LAST UP
  PATTERN (STRT DOWN+ UP+) WITHIN 1 MINUTE
  DEFINE DOWN AS v < PREV(v), UP AS v > PREV(v) AND UP.v < STRT.v + 60);
"""


def write(folder: Path, frame: pl.DataFrame, first: int, last: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(first, last):
        write_file(folder / f"{number}.parquet", frame[number * 500 : (number + 1) * 500], number)


def test_matches_go_on_over_batches_and_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    seconds = np.arange(2_000) / 40 + rng.uniform(0, 2, 2_000)
    frame = pl.DataFrame(
        {
            "k": rng.integers(0, 20, 2_000),
            "v": rng.integers(0, 100, 2_000),
            "ts": START + (seconds * 1_000_000).astype(np.int64),
        }
    ).with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))
    text = TEXT.format(folder=tmp_path)
    write(tmp_path / "in", frame, 0, 2)
    first = Engine(spark, checkpoint=tmp_path / "checkpoint")
    first.sql(text)
    first.start()
    first.process_available()
    first.stop()
    write(tmp_path / "in", frame, 2, 4)
    second = Engine(spark, checkpoint=tmp_path / "checkpoint")
    second.sql(text)
    second.start()
    second.finish()
    found = [engine.query("falls").results() for engine in (first, second)]
    assert all(each.height > 20 for each in found)
    local = by_local_engine(text).query("falls")
    assert same(pl.concat(found), local.results())
    # Attempts that `match_rows` has ended are counted over restarts.
    assert second.query("falls").status.ended_attempts == local.status.ended_attempts > 0
