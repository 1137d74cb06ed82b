"""Many windows over one stream: a hundred cost a few times what one costs, for they share panes.

Sum and count by key, 100 keys, rows up to 5 s out of order; each query has its own window, RANGE
from 10 s to 10 min and SLIDE from 1 s to 1 min, at random; results go to parquet files, one folder
per query. All queries of ours run as one pipeline with one store of panes.

    case           compares
    windows-10     our time for one window with that for ten; the answer to the one is compared
    windows-100    the same with a hundred
    spark-1        one window, ours against `groupBy(window(...))`
    spark-10       ten, ours against one streaming query of Spark for each, side by side

The ratio of the first two is the one's time over the others': 0.2 says that a hundred windows take
five times as long as one. What counts is the time from the end of a first small batch, which starts
the queries, to the last result. Against Spark, which copies every row into each of its windows,
both get a tenth of the rows.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from _streams import DEFAULT_STORE, arrivals, read_files, release, run_ours, write_files
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from penstock.lab.benchmarking import Case, Timed
from penstock.spark.session import changed, local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

RATE, DISORDER, KEYS = 20_000, 5, 100
PER_FILE, FILES_PER_TRIGGER = 500_000, 4


@dataclass(frozen=True)
class Window:
    """RANGE and SLIDE, in seconds."""

    range: int
    slide: int


def windows(count: int) -> list[Window]:
    """Different windows, the first of them RANGE 60 s SLIDE 1 s; the same for ever."""
    draw = random.Random(11)
    found = {Window(60, 1): None}
    while len(found) < count:
        slide = draw.randint(1, 60)
        found[Window(draw.randint(max(10, slide + 1), 600), slide)] = None
    return list(found)


def cases(quick: bool) -> Iterator[Case]:
    spark = local_session()
    rows = 2_000_000 if quick else 10_000_000
    one, ten, hundred = windows(1), windows(10), windows(100)
    timed_ours(spark, 100_000, one)  # imports and compiles before anything counts
    for name, many in (("windows-10", ten), ("windows-100", hundred)):
        yield Case(
            name=name,
            ours=partial(timed_ours, spark, rows, many, shown=1),
            rival=partial(timed_ours, spark, rows, one),
            rival_name="ours, one window",
            repeats=1 if quick else 2,
            warm_up=0,
            extra={"rows": rows, "windows": len(many)},
        )
    timed_rival(spark, 100_000, one)
    for name, same in (("spark-1", one), ("spark-10", ten)):
        yield Case(
            name=name,
            ours=partial(timed_ours, spark, rows // 10, same),
            rival=partial(timed_rival, spark, rows // 10, same),
            rival_name="Spark's window(), a query each",
            repeats=1,
            warm_up=0,
            extra={"rows": rows // 10, "windows": len(same)},
        )


def timed_ours(
    spark: SparkSession, rows: int, of: list[Window], *, shown: int | None = None
) -> Timed:
    """Our answers to the first `shown` of the windows, and the time for all of them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, rows)
        seconds = run_ours(spark, ours(folder, of), folder / "in")
        return Timed(answer(folder, len(of) if shown is None else shown), seconds)


def timed_rival(spark: SparkSession, rows: int, of: list[Window]) -> Timed:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, rows)
        seconds = run_side_by_side(spark, folder, of)
        return Timed(answer(folder, len(of)), seconds)


def write(folder: Path, rows: int) -> None:
    rng = np.random.default_rng(7)
    stream = pl.DataFrame(
        {
            "k": rng.integers(0, KEYS, rows),
            "v": rng.integers(0, 1000, rows),
            "ts": arrivals(rows, RATE, DISORDER, rng),
        }
    )
    write_files(folder / "in", stream, max(1, rows // PER_FILE))


def ours(folder: Path, of: list[Window]) -> str:
    stream = (
        f"CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP) FROM parquet '{folder}/in' "
        f"OPTIONS (maxFilesPerTrigger '{FILES_PER_TRIGGER}') TIMESTAMP BY ts "
        f"SLACK {DISORDER} SECONDS"
    )
    queries = (
        f"CREATE QUERY q{number} INTO parquet '{folder}/out-{number}' AS "
        f"SELECT k, sum(v) AS total, count(*) AS n "
        f"FROM s [RANGE {window.range} SECONDS, SLIDE {window.slide} SECONDS] GROUP BY k"
        for number, window in enumerate(of)
    )
    return ";".join((stream, *queries))


def run_side_by_side(spark: SparkSession, folder: Path, of: list[Window]) -> float:
    """Seconds that as many Spark queries take."""
    checkpoints = [tempfile.mkdtemp() for _ in of]
    with changed(
        spark, {"spark.sql.streaming.noDataMicroBatches.enabled": "true", **DEFAULT_STORE}
    ):
        queries: list[StreamingQuery] = [
            rival(spark, folder, window)
            .writeStream.format("parquet")
            .option("path", str(folder / f"out-{number}"))
            .option("checkpointLocation", checkpoint)
            .start()
            for number, (window, checkpoint) in enumerate(zip(of, checkpoints, strict=True))
        ]
        try:
            for query in queries:
                query.processAllAvailable()
            begun = time.perf_counter()
            release(folder / "in")
            for query in queries:
                query.processAllAvailable()
            return time.perf_counter() - begun
        finally:
            for query in queries:
                query.stop()
            for checkpoint in checkpoints:
                shutil.rmtree(checkpoint, ignore_errors=True)


def rival(spark: SparkSession, folder: Path, window: Window) -> DataFrame:
    rows = read_files(spark, folder / "in", "k BIGINT, v BIGINT, ts TIMESTAMP", FILES_PER_TRIGGER)
    # Spark lets windows begin at multiples of the slide, ours end there.
    offset = f"{-window.range % window.slide} seconds"
    within = F.window("ts", f"{window.range} seconds", f"{window.slide} seconds", offset)
    counted: DataFrame = (
        rows.withWatermark("ts", f"{DISORDER} seconds")
        .groupBy("k", within.alias("w"))
        .agg(F.sum("v").alias("total"), F.count("*").alias("n"))
    )
    return counted.select("k", "total", "n", F.col("w.end").alias("window_end"))


def answer(folder: Path, count: int) -> pl.DataFrame:
    """The rows of all queries that are asked for, each with its query's number."""
    columns = ["k", "total", "n", "window_end"]
    parts = (
        pl.read_parquet(file, columns=columns).with_columns(
            pl.col("window_end").dt.epoch("us"), query=pl.lit(number)
        )
        for number in range(count)
        for file in sorted((folder / f"out-{number}").glob("*.parquet"))
    )
    return pl.concat(parts).sort("query", "window_end", "k")
