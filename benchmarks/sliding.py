"""Sliding windows on Spark: ours against `groupBy(window(...))`, on the same files.

Sum and count by key over RANGE 60 s, 100 keys (and 100 000), rows up to 5 s out of order, SLIDE
from 60 s down to 0.1 s; a micro-batch takes 2 M rows; results go to parquet files. Spark's
aggregation runs with its default store and with RocksDB and changelog checkpoints; the faster one
counts, and the column `store` says which that was. What counts is the time from the end of a first
small batch, which starts the query, to the last result. Where Spark would take more than five
minutes both get fewer rows; the column `rows` says how many.
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

RATE, DISORDER, RANGE = 20_000, 5, 60
PER_FILE, FILES_PER_TRIGGER = 500_000, 4

STORES = {"default": DEFAULT_STORE, "rocksdb": ROCKSDB}


@dataclass(frozen=True)
class Setting:
    """One comparison."""

    rows: int
    slide: str  # seconds
    keys: int = 100


def cases(quick: bool) -> Iterator[Case]:
    spark = local_session()
    full = 2_000_000 if quick else 10_000_000
    small = Setting(100_000, "60")
    timed_ours(spark, small)  # both sides compile and import before anything counts
    for store in STORES:
        timed_rival(spark, small, store)
    settings = {
        "60-60": Setting(full, "60"),
        "60-6": Setting(full, "6"),
        "60-1": Setting(full, "1"),
        "60-0.1": Setting(full // 20, "0.1"),
        "60-1-100k-keys": Setting(full // 50, "1", 100_000),
    }
    for name, setting in settings.items():
        yield case(spark, name, setting)


def case(spark: SparkSession, name: str, setting: Setting) -> Case:
    extra: dict[str, object] = {"rows": setting.rows}

    def rival() -> Timed:
        if "store" in extra:
            return timed_rival(spark, setting, str(extra["store"]))
        runs = {store: timed_rival(spark, setting, store) for store in STORES}
        extra["store"] = min(runs, key=lambda store: runs[store].seconds)
        return runs[str(extra["store"])]

    return Case(
        name=name,
        ours=partial(timed_ours, spark, setting),
        rival=rival,
        rival_name="Spark's window(), its better store",
        # Where both are fast, what is still cold in the first run counts.
        repeats=3 if setting.slide in ("60", "6") else 1,
        warm_up=0,
        extra=extra,
    )


def timed_ours(spark: SparkSession, setting: Setting) -> Timed:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, setting)
        seconds = run_ours(spark, ours(folder, setting), folder / "in")
        return Timed(answer(folder / "out"), seconds)


def timed_rival(spark: SparkSession, setting: Setting, store: str) -> Timed:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, setting)
        frame = partial(rival, spark, folder, setting)
        seconds = run_rival(spark, frame, folder / "out", STORES[store], folder / "in")
        return Timed(answer(folder / "out"), seconds)


def write(folder: Path, setting: Setting) -> None:
    rng = np.random.default_rng(7)
    rows = pl.DataFrame(
        {
            "k": rng.integers(0, setting.keys, setting.rows),
            "v": rng.integers(0, 1000, setting.rows),
            "ts": arrivals(setting.rows, RATE, DISORDER, rng),
        }
    )
    write_files(folder / "in", rows, max(1, setting.rows // PER_FILE))


def ours(folder: Path, setting: Setting) -> str:
    return (
        f"CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP) FROM parquet '{folder}/in' "
        f"OPTIONS (maxFilesPerTrigger '{FILES_PER_TRIGGER}') TIMESTAMP BY ts "
        f"SLACK {DISORDER} SECONDS;"
        f"CREATE QUERY q INTO parquet '{folder}/out' AS SELECT k, sum(v) AS total, count(*) AS n "
        f"FROM s [RANGE {RANGE} SECONDS, SLIDE {setting.slide} SECONDS] GROUP BY k"
    )


def rival(spark: SparkSession, folder: Path, setting: Setting) -> DataFrame:
    rows = read_files(spark, folder / "in", "k BIGINT, v BIGINT, ts TIMESTAMP", FILES_PER_TRIGGER)
    window = F.window("ts", f"{RANGE} seconds", f"{setting.slide} seconds")
    counted: DataFrame = (
        rows.withWatermark("ts", f"{DISORDER} seconds")
        .groupBy("k", window.alias("w"))
        .agg(F.sum("v").alias("total"), F.count("*").alias("n"))
    )
    return counted.select("k", "total", "n", F.col("w.end").alias("window_end"))


def answer(folder: Path) -> pl.DataFrame:
    files = sorted(folder.glob("*.parquet"))
    columns = ["k", "total", "n", "window_end"]
    parts = (
        pl.read_parquet(file, columns=columns).with_columns(pl.col("window_end").dt.epoch("us"))
        for file in files
    )
    return pl.concat(parts).sort("window_end", "k")
