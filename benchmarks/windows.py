"""Many windows over one stream: a hundred cost a few times what one costs, for they share panes.

Sum and count by key, 100 keys, rows up to 5 s out of order; each query has its own window, RANGE
from 10 s to 10 min and SLIDE from 1 s to 1 min, at random; results go to parquet files, one folder
per query. All queries of ours run as one pipeline with one store of panes.

    case           compares
    windows-10     our time for one window with that for ten; all answers are held against what
                   the definition of windows says
    windows-100    the same with a hundred
    spark-1        one window, ours against `groupBy(window(...))`
    spark-10       ten, ours against one streaming query of Spark for each, side by side

The ratio of the first two is the one's time over the others': 0.2 says that a hundred windows take
five times as long as one. What counts is the time from the end of a first small batch, which starts
the queries, to the last result. Against Spark, which copies every row into each of its windows,
both get a tenth of the rows. Spark tries its default store and RocksDB with changelog checkpoints
in its first run; the faster one counts, and the column `store` says which that was.

Before anything counts, ours runs a tenth of a million rows with one window and with ten, and Spark
with one and each store. Times are medians of three; where a run of Spark's takes over a minute it
is the only one, as the column `runs` says.
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
import polars.selectors as cs
from _streams import (
    ONCE_ABOVE,
    OURS_IO,
    RIVAL_IO,
    SECOND,
    START,
    STORES,
    FastestStore,
    arrivals,
    read_files,
    release,
    run_ours,
    write_files,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from penstock.lab.benchmarking import Case, Timed, difference
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
    for few in (one, ten):
        timed_ours(spark, 100_000, few)
    for name, many in (("windows-10", ten), ("windows-100", hundred)):
        yield Case(
            name=name,
            ours=partial(timed_ours, spark, rows, many),
            rival=partial(timed_ours, spark, rows, one),
            rival_name="ours, one window",
            repeats=3,
            warm_up=0,
            difference=partial(wrong, expected(stream(rows), many)),
            ours_io=OURS_IO["parquet"],
            rival_io=OURS_IO["parquet"],
            extra={"rows": rows, "windows": len(many)},
        )
    for store in STORES:
        timed_rival(spark, 100_000, one, store)
    for name, same in (("spark-1", one), ("spark-10", ten)):
        extra: dict[str, object] = {"rows": rows // 10, "windows": len(same)}
        yield Case(
            name=name,
            ours=partial(timed_ours, spark, rows // 10, same),
            rival=FastestStore(partial(timed_rival, spark, rows // 10, same), STORES, extra),
            rival_name="Spark's window()",
            repeats=3,
            warm_up=0,
            once_above=ONCE_ABOVE,
            ours_io=OURS_IO["parquet"],
            rival_io=RIVAL_IO["parquet"],
            extra=extra,
        )


def timed_ours(spark: SparkSession, rows: int, of: list[Window]) -> Timed:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, rows)
        seconds = run_ours(spark, ours(folder, of), folder / "in")
        return Timed(answer(folder, of), seconds)


def timed_rival(spark: SparkSession, rows: int, of: list[Window], store: str) -> Timed:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, rows)
        seconds = run_side_by_side(spark, folder, of, store)
        return Timed(answer(folder, of), seconds)


def write(folder: Path, rows: int) -> None:
    write_files(folder / "in", stream(rows), max(1, rows // PER_FILE))


def stream(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "k": rng.integers(0, KEYS, rows),
            "v": rng.integers(0, 1000, rows),
            "ts": arrivals(rows, RATE, DISORDER, rng),
        }
    )


def expected(rows: pl.DataFrame, of: list[Window]) -> pl.DataFrame:
    """What the definition says, from sums over all seconds up to each."""
    first, seconds = START // SECOND, int((rows["ts"].max() - START) // SECOND) + 1
    place = (rows["ts"].to_numpy() // SECOND - first) * KEYS + rows["k"].to_numpy()
    shape, cells = (seconds, KEYS), seconds * KEYS
    sums = np.bincount(place, rows["v"].to_numpy(), cells).astype(np.int64).reshape(shape)
    counts = np.bincount(place, minlength=cells).reshape(shape)
    upto_sums, upto_counts = (
        np.vstack((np.zeros((1, KEYS), np.int64), np.cumsum(each, axis=0)))
        for each in (sums, counts)
    )
    parts = []
    for number, window in enumerate(of):
        # Windows end at multiples of the slide.
        beyond = -(-(first + seconds + window.range) // window.slide)
        end = np.arange(first // window.slide + 1, beyond) * window.slide - first
        last = np.clip(end, 0, seconds)
        before = np.clip(end - window.range, 0, seconds)
        total, n = (upto[last] - upto[before] for upto in (upto_sums, upto_counts))
        part = pl.DataFrame(
            {
                "k": np.tile(np.arange(KEYS), len(end)),
                "total": total.ravel(),
                "n": n.ravel(),
                "window_end": np.repeat((end + first) * SECOND, KEYS),
                "window_start": np.repeat((end + first - window.range) * SECOND, KEYS),
                "query": np.full(n.size, number),
            }
        )
        parts.append(part.filter(pl.col("n") > 0))
    return pl.concat(parts)


def wrong(right: pl.DataFrame, ours: pl.DataFrame, one: pl.DataFrame) -> str | None:
    """The first difference of either answer to what is right; `one` has the first window alone."""
    for name, found, of in (("all", ours, right), ("one", one, right.filter(query=0))):
        differs = difference(found, of)
        if differs is not None:
            return f"windows, with {name}: {differs} (the definition)"
    return None


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


def run_side_by_side(spark: SparkSession, folder: Path, of: list[Window], store: str) -> float:
    """Seconds that as many Spark queries take."""
    checkpoints = [tempfile.mkdtemp() for _ in of]
    settings = {"spark.sql.streaming.noDataMicroBatches.enabled": "true", **STORES[store]}
    with changed(spark, settings):
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


def answer(folder: Path, of: list[Window]) -> pl.DataFrame:
    """The rows of all queries, each with its query's number.

    Spark does not write where windows begin, which follows from where they end.
    """
    parts = []
    for number, window in enumerate(of):
        for file in sorted((folder / f"out-{number}").glob("*.parquet")):
            rows = pl.read_parquet(file).with_columns(cs.starts_with("window_").dt.epoch("us"))
            if "window_start" not in rows.columns:
                start = pl.col("window_end") - window.range * SECOND
                rows = rows.with_columns(window_start=start)
            parts.append(rows.with_columns(query=pl.lit(number)))
    return pl.concat(parts)
