"""Window joins on Spark: ours against Spark's own stream-stream join, on the same files.

Two streams with keys at random and rows up to 5 s out of order, joined on the key within a band of
time; results go to parquet files. A micro-batch takes 40 s of each stream. What counts is the time
from the end of a first small batch, which starts the query, to the last result; answers are
compared row by row.

    case             what is special
    band-10s-STORE   Spark's join under its default state store, under RocksDB (with changelog
                     checkpoints, its faster way), and under its newest state format
    band-10s         the same with the store that was fastest there
    keys-1k          a tenth of the rows: at the full rate every row would have 200 partners
    hot-key          half of the rows of one stream have the same key
    band-10s-csv     from CSV files; both sides know the schema

The hot key has five times its usual share in the other stream, so that a row of it has ten partners
where others have two, and results are two to three times as many as rows; with half of both streams
they would grow with the square of the rows. All state of the key, and all work on it, falls into
one partition: with two, that one has three quarters of the stream, and the other a quarter.

From band-60s on Spark's first run tries every store that took at most twice as long as the fastest
of band-10s-STORE, and the fastest counts; the column `store` says which that was. Before anything
counts, each side runs 20 s of the streams from parquet and from CSV, Spark once with each store and
ours as often. Times are medians of three; where a run of Spark's takes over a minute it is the only
one, as the column `runs` says.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl
from _streams import (
    DEFAULT_STORE,
    ONCE_ABOVE,
    OURS_IO,
    RIVAL_IO,
    ROCKSDB,
    FastestStore,
    arrivals,
    read_files,
    run_ours,
    run_rival,
    write_files,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.lab.benchmarking import Case, Timed
from penstock.spark.session import local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

DISORDER, FILE_SECONDS, FILES_PER_TRIGGER = 5, 10, 4

SCHEMA = "k BIGINT, id BIGINT, ts TIMESTAMP"
#: How many of the rows of each stream have the hot key, where there is one.
HOT_KEY, HOT_SHARES = 0, {"a": 0.5, "b": 0.00005}

_VERSION = "spark.sql.streaming.join.stateFormatVersion"
STORES = {
    "default": {**DEFAULT_STORE, _VERSION: ""},
    "rocksdb": {**ROCKSDB, _VERSION: ""},
    "newest": {**ROCKSDB, _VERSION: "4"},
}


@dataclass(frozen=True)
class Setting:
    """One comparison."""

    seconds: int  # that the streams last
    rate: int = 10_000
    keys: int = 100_000
    band: int = 10  # seconds to either side
    outer: bool = False
    hot: bool = False
    format: str = "parquet"


def cases(quick: bool) -> Iterator[Case]:
    seconds = 40 if quick else 120
    spark = local_session()
    for format_ in ("parquet", "csv"):
        for store in STORES:
            timed_ours(spark, Setting(20, format=format_))
            timed_rival(spark, Setting(20, format=format_), store)
    plain = Setting(seconds)
    runs: dict[str, list[float]] = {store: [] for store in STORES}
    for store in STORES:
        yield case(spark, f"band-10s-{store}", plain, [store], runs)
    # With --case these may not have run: then every store is tried in each case.
    took = {store: median(found) for store, found in runs.items() if found}
    fast = [store for store in took if took[store] <= 2 * min(took.values())] or list(STORES)
    yield case(spark, "band-10s", plain, [min(took, key=took.__getitem__)] if took else fast)
    yield case(spark, "band-60s", Setting(seconds, band=60), fast)
    yield case(spark, "keys-1k", Setting(seconds, rate=1_000, keys=1_000), fast)
    yield case(spark, "left-outer", Setting(seconds, outer=True), fast)
    yield case(spark, "hot-key", Setting(seconds, hot=True), fast)
    yield case(spark, "band-10s-csv", Setting(seconds, format="csv"), fast)


def case(
    spark: SparkSession,
    name: str,
    setting: Setting,
    stores: Iterable[str],
    runs: dict[str, list[float]] | None = None,
) -> Case:
    """Against the fastest of the stores; `runs` learns what all runs of each took."""
    extra: dict[str, object] = {"rows": 2 * setting.seconds * setting.rate}

    def rival(store: str) -> Timed:
        timed = timed_rival(spark, setting, store)
        if runs is not None:
            runs[store].append(timed.seconds)
        return timed

    return Case(
        name=name,
        ours=partial(timed_ours, spark, setting),
        rival=FastestStore(rival, stores, extra),
        rival_name="Spark's join",
        repeats=3,
        warm_up=0,
        once_above=ONCE_ABOVE,
        ours_io=OURS_IO[setting.format],
        rival_io=RIVAL_IO[setting.format],
        extra=extra,
    )


def timed_ours(spark: SparkSession, setting: Setting) -> Timed:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, setting)
        seconds = run_ours(spark, ours(folder, setting), folder / "a", folder / "b")
        return Timed(answer(folder / "out"), seconds)


def timed_rival(spark: SparkSession, setting: Setting, store: str) -> Timed:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, setting)
        joined = partial(rival, spark, folder, setting)
        both = (folder / "a", folder / "b")
        seconds = run_rival(spark, joined, folder / "out", STORES[store], *both)
        return Timed(answer(folder / "out"), seconds)


def write(folder: Path, setting: Setting) -> None:
    rows = setting.seconds * setting.rate
    for seed, side in enumerate(("a", "b")):
        rng = np.random.default_rng(seed)
        keys = rng.integers(0, setting.keys, rows)
        if setting.hot:
            keys[rng.random(rows) < HOT_SHARES[side]] = HOT_KEY
        times = arrivals(rows, setting.rate, DISORDER, rng)
        frame = pl.DataFrame({"k": keys, "id": np.arange(rows), "ts": times})
        write_files(folder / side, frame, setting.seconds // FILE_SECONDS, setting.format)


def ours(folder: Path, setting: Setting) -> str:
    streams = "".join(
        f"CREATE STREAM {side} ({SCHEMA}) FROM {setting.format} '{folder}/{side}' "
        f"OPTIONS (maxFilesPerTrigger '{FILES_PER_TRIGGER}') TIMESTAMP BY ts "
        f"SLACK {DISORDER} SECONDS;"
        for side in ("a", "b")
    )
    join = "LEFT JOIN" if setting.outer else "JOIN"
    return (
        f"{streams}CREATE QUERY q INTO parquet '{folder}/out' AS SELECT a.id AS a, b.id AS b "
        f"FROM a {join} b ON a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL {setting.band} SECONDS "
        f"AND a.ts + INTERVAL {setting.band} SECONDS"
    )


def rival(spark: SparkSession, folder: Path, setting: Setting) -> DataFrame:
    sides = []
    for side in ("a", "b"):
        rows = read_files(spark, folder / side, SCHEMA, FILES_PER_TRIGGER, setting.format)
        marked = rows.withWatermark("ts", f"{DISORDER} seconds")
        sides.append(marked.select(*(F.col(c).alias(f"{side}_{c}") for c in ("k", "id", "ts"))))
    left, right = sides
    band = F.expr(f"INTERVAL {setting.band} SECONDS")
    condition = (F.col("a_k") == F.col("b_k")) & F.col("b_ts").between(
        F.col("a_ts") - band, F.col("a_ts") + band
    )
    joined: DataFrame = left.join(right, condition, "left" if setting.outer else "inner")
    return joined.select(F.col("a_id").alias("a"), F.col("b_id").alias("b"))


def answer(folder: Path) -> pl.DataFrame:
    files = sorted(folder.glob("*.parquet"))
    return pl.concat(pl.read_parquet(file) for file in files)
