"""Tasks of a real Spark aggregate rows before they are shuffled, except those that may be late."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal
from pyspark.sql import SparkSession

from penstock.local.engine import LocalEngine
from penstock.spark.engine import Engine
from tests.spark.packets import write_file

STREAM = "CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP) {} TIMESTAMP BY ts SLACK 1 SECOND"
QUERY = (
    "CREATE QUERY q AS SELECT k, count(*) AS n, sum(v) AS total, max(v) AS most "
    "FROM s [RANGE 10 SECONDS, SLIDE 5 SECONDS] WHERE v < 900 GROUP BY k"
)
FILES, ROWS, LATE = 3, 20_000, 10


def file_of(number: int) -> pl.DataFrame:
    """Twenty seconds in ten groups; in all files but the first some rows of the one before."""
    draw = np.random.default_rng(number)
    times = (number * ROWS + np.arange(ROWS)) * 1000
    times[:LATE] -= 10_000_000 * bool(number)
    return pl.DataFrame(
        {
            "k": draw.integers(0, 10, ROWS),
            "v": draw.integers(0, 1000, ROWS),
            "ts": pl.Series(times).cast(pl.Datetime("us", "UTC")),
        }
    )


def test_rows_are_aggregated_where_they_are_read_but_for_late_ones(
    spark: SparkSession, tmp_path: Path
) -> None:
    for number in range(FILES):
        write_file(tmp_path / f"{number}.parquet", file_of(number), number)
    source = f"FROM parquet '{tmp_path}' OPTIONS (maxFilesPerTrigger '1')"
    with Engine(spark) as engine:
        engine.sql(f"{STREAM.format(source)}; {QUERY}")
        engine.start()
        engine.finish()
        ours, counts = engine.query("q").results(), engine.counts("s")
        read = {each.name.split("-")[0]: each.rows_in for each in engine.status().operators}
    late = LATE * (FILES - 1)
    assert (counts.rows, counts.late) == (FILES * ROWS - late, late)
    # All rows reach the aggregate, and none the operators in front of it in the groups.
    assert (read["Select"], read["Bucket"]) == (0, 0)
    assert read["WidAggregate"] == FILES * ROWS - late

    local = LocalEngine()
    local.sql(f"{STREAM.format('')}; {QUERY}")
    for number in range(FILES):
        local.push("s", file_of(number))
    local.finish()
    by = ["k", "window_end"]
    assert_frame_equal(ours.sort(by), local.query("q").results().sort(by), check_dtypes=False)
