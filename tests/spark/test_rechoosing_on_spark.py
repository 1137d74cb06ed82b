"""Groups of a real Spark pipeline choose other operators while they run, and over a restart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal
from pyspark.sql import SparkSession

from penstock.local.engine import LocalEngine
from penstock.spark.engine import Engine
from tests.spark.packets import write_file

STREAM = "CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP) {} TIMESTAMP BY ts"
#: Nothing is known of the groups when it is declared; for those that come, panes cost half.
QUERY = (
    "CREATE QUERY q AS SELECT k, avg(v) AS x "
    "FROM s [RANGE 5 SECONDS, SLIDE 50 MILLISECONDS] GROUP BY k;"
    "CREATE QUERY rows AS SELECT k FROM s WHERE v < 0"  # for which rows reach the groups
)
FILES, ROWS = 5, 5000


def file_of(number: int) -> pl.DataFrame:
    """Ten seconds, a hundred groups."""
    draw = np.random.default_rng(number)
    times = (number * ROWS + np.arange(ROWS)) * 2000
    return pl.DataFrame(
        {
            "k": draw.integers(0, 100, ROWS),
            "v": draw.integers(0, 1000, ROWS),
            "ts": pl.Series(times).cast(pl.Datetime("us", "UTC")),
        }
    )


def run(spark: SparkSession, folder: Path, *, last: bool) -> tuple[pl.DataFrame, str]:
    """Read the files that are there, one a batch; gives the results, and what ran in the end."""
    with Engine(spark, checkpoint=folder / "checkpoint") as engine:
        source = f"FROM parquet '{folder / 'in'}' OPTIONS (maxFilesPerTrigger '1')"
        engine.sql(f"{STREAM.format(source)}; {QUERY}")
        assert "WidAggregate" in engine.sql("EXPLAIN q")
        engine.start()
        engine.process_available()
        explained = str(engine.sql("EXPLAIN q"))
        if last:
            engine.finish()
        return engine.query("q").results(), explained


def test_groups_choose_by_the_rows_they_have_had_and_keep_their_choice(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    parts, shown = [], []
    for numbers, last in ((range(2), False), (range(2, FILES), True)):
        for number in numbers:
            write_file(tmp_path / "in" / f"{number}.parquet", file_of(number), number)
        results, explained = run(spark, tmp_path, last=last)
        parts.append(results)
        shown.append(explained)
    for explained in shown:
        _, changed = explained.split("Chosen again while running")
        assert "PanedWid" in changed
    assert "Handover" in shown[0]
    assert "Handover" not in shown[1]
    engine = LocalEngine()
    engine.sql(f"SET aggregation = wid; {STREAM.format('')}; {QUERY}")
    for number in range(FILES):
        engine.push("s", file_of(number))
    engine.finish()
    by = ["k", "window_end"]
    ours, theirs = pl.concat(parts).sort(by), engine.query("q").results().sort(by)
    assert_frame_equal(ours, theirs, check_dtypes=False)
