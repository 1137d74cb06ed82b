"""Window joins on Spark: ours against Spark's own stream-stream join, on the same files.

Two streams with keys at random and rows up to 5 s out of order, joined on the key within a band of
time; results go to parquet files. A micro-batch takes 40 s of each stream. Spark's join runs under
its default state store, under RocksDB (with changelog checkpoints, its faster way), and under its
newest state format; the other cases compare with the fastest of these. What counts is the time from
the end of a first small batch, which starts the query, to the last result; answers are compared row
by row. `keys-1k` has a tenth of the rows: at the full rate every row would have 200 partners.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from _streams import DEFAULT_STORE, ROCKSDB, arrivals, read_files, run_ours, run_rival, write_files
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.lab.benchmarking import Case, Timed
from penstock.spark.session import local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

DISORDER, FILE_SECONDS, FILES_PER_TRIGGER = 5, 10, 4

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


def cases(quick: bool) -> Iterator[Case]:
    seconds = 40 if quick else 120
    spark = local_session()
    timed_ours(spark, Setting(20))  # both sides compile and import before anything counts
    timed_rival(spark, Setting(20), "default")
    stores: dict[str, float] = {}
    plain = Setting(seconds)
    for store in STORES:
        yield case(spark, f"band-10s-{store}", plain, store, stores)
    best = min(stores, key=stores.__getitem__)
    yield case(spark, "band-10s", plain, best, stores)
    yield case(spark, "band-60s", Setting(seconds, band=60), best, stores)
    yield case(spark, "keys-1k", Setting(seconds, rate=1_000, keys=1_000), best, stores)
    yield case(spark, "left-outer", Setting(seconds, outer=True), best, stores)


def case(
    spark: SparkSession, name: str, setting: Setting, store: str, stores: dict[str, float]
) -> Case:
    def rival() -> Timed:
        timed = timed_rival(spark, setting, store)
        stores.setdefault(store, timed.seconds)
        return timed

    return Case(
        name=name,
        ours=partial(timed_ours, spark, setting),
        rival=rival,
        rival_name=f"Spark's join, {store} store",
        # The one comparison that is close enough for noise to matter.
        repeats=3 if name == "band-10s" else 1,
        warm_up=0,
        extra={"rows": 2 * setting.seconds * setting.rate},
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
        times = arrivals(rows, setting.rate, DISORDER, rng)
        frame = pl.DataFrame({"k": keys, "id": np.arange(rows), "ts": times})
        write_files(folder / side, frame, setting.seconds // FILE_SECONDS)


def ours(folder: Path, setting: Setting) -> str:
    streams = "".join(
        f"CREATE STREAM {side} (k BIGINT, id BIGINT, ts TIMESTAMP) FROM parquet '{folder}/{side}' "
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
        names = "k BIGINT, id BIGINT, ts TIMESTAMP"
        rows = read_files(spark, folder / side, names, FILES_PER_TRIGGER)
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
    return pl.concat(pl.read_parquet(f, columns=["a", "b"]) for f in files).sort("a", "b")
