"""Tasks of a real Spark aggregate rows before they are shuffled, except those that may be late.

Results of queries that look at single rows they write, and the driver publishes a file per batch.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from pyspark.sql import SparkSession

from penstock.local.engine import LocalEngine
from penstock.spark.control import told
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


@pytest.mark.parametrize(
    ("format", "staged_from"),
    [("parquet", 1), pytest.param("csv", 1, marks=pytest.mark.slow), ("csv", 10_000)],
)
def test_tasks_write_the_results_of_queries_over_single_rows_if_there_are_many(
    spark: SparkSession,
    tmp_path: Path,
    format: str,
    staged_from: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(told, "STAGED_FROM", staged_from)
    (tmp_path / "in").mkdir()
    write_file(tmp_path / "in" / "0.parquet", file_of(0), 0)
    source = f"FROM parquet '{tmp_path / 'in'}' OPTIONS (maxFilesPerTrigger '1')"
    select = "SELECT k, v * 2 AS w, ts FROM s WHERE v < 100"
    out = tmp_path / "out"
    files: list[list[str]] = []
    read: list[list[int]] = []
    for number in range(1, FILES + 1):
        # A run that continues verifies everything that was written before it.
        with Engine(spark, checkpoint=tmp_path / "checkpoint") as engine:
            engine.sql(f"{STREAM.format(source)}; CREATE QUERY q INTO {format} '{out}' AS {select}")
            engine.start()
            engine.process_available()
            if number < FILES:
                write_file(tmp_path / "in" / f"{number}.parquet", file_of(number), number)
                engine.process_available()
            rows = engine.query("q").total_rows
            read.append([each.rows_in for each in engine.status().operators if "Sel" in each.name])
        files.append(sorted(file.name for file in out.iterdir() if file.name[0] != "_"))
    assert files[-1] == [f"part-{batch:08d}.{format}" for batch in range(FILES)]
    assert read == [[2 * ROWS], [ROWS], []]
    expected = pl.concat(map(file_of, range(FILES))).filter(pl.col("v") < 100)
    reader = {"parquet": pl.read_parquet, "csv": pl.read_csv}[format]
    found = pl.concat(reader(out / name) for name in files[-1])  # type: ignore[operator]
    assert rows == found.height == expected.height
    ours = found.select("k", "w").sort("k", "w")
    theirs = expected.select("k", w=pl.col("v") * 2).sort("k", "w")
    assert_frame_equal(ours, theirs)


def test_groups_write_results_of_windows_where_there_are_many(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    for number in range(FILES):
        write_file(tmp_path / "in" / f"{number}.parquet", file_of(number), number)
    source = f"FROM parquet '{tmp_path / 'in'}' OPTIONS (maxFilesPerTrigger '1')"
    found = []
    for staged_from in (1, 1_000_000):
        monkeypatch.setattr(told, "STAGED_FROM", staged_from)
        out = tmp_path / str(staged_from)
        with Engine(spark) as engine:
            engine.sql(
                f"{STREAM.format(source)}; {QUERY.replace(' AS', f' INTO json {str(out)!r} AS', 1)}"
            )
            engine.start()
            engine.finish()
            rows = engine.query("q").rows
        assert all(file.name.startswith(("part-", "_")) for file in out.iterdir())
        read = pl.concat(pl.read_ndjson(file) for file in sorted(out.glob("part-*")))
        assert rows == read.height > 0
        found.append(read.sort("k", "window_end"))
    assert_frame_equal(*found)
