"""Sliding windows on Spark: ours against `groupBy(window(...))`, on the same files.

Sum and count by key over RANGE 60 s, 100 keys (and 100 000), rows up to 5 s out of order, SLIDE
from 60 s down to 0.1 s; a micro-batch takes 2 M rows; results go to parquet files. What counts is
the time from the end of a first small batch, which starts the query, to the last result. Where
Spark would take more than five minutes both get fewer rows; the column `rows` says how many.

    case              rows come from
    60-1-csv          CSV files; both sides know the schema
    60-1-spark-rows   parquet files that Spark reads on both sides: ours gets a DataFrame
    all others        parquet files, which ours reads by itself

Spark's aggregation tries its default store and RocksDB with changelog checkpoints in every case;
the faster one counts, and the column `store` says which that was. Before anything counts, each side
runs a tenth of a million rows from each kind of source, Spark once with each store and ours as
often. Times are medians of three; where a run of Spark's takes over a minute it is the only one, as
the column `runs` says.
"""

from __future__ import annotations

import tempfile
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
    STORES,
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
from penstock.spark.engine import Engine
from penstock.spark.session import local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

RATE, DISORDER, RANGE = 20_000, 5, 60
PER_FILE, FILES_PER_TRIGGER = 500_000, 4

SCHEMA = "k BIGINT, v BIGINT, ts TIMESTAMP"
PARQUET, CSV, SPARK_ROWS = "parquet", "csv", "spark-rows"


@dataclass(frozen=True)
class Setting:
    """One comparison."""

    rows: int
    slide: str  # seconds
    keys: int = 100
    source: str = PARQUET

    @property
    def format(self) -> str:
        return CSV if self.source == CSV else PARQUET


def cases(quick: bool) -> Iterator[Case]:
    spark = local_session()
    full = 2_000_000 if quick else 10_000_000
    for slide, source in (("60", PARQUET), ("1", PARQUET), ("1", CSV), ("1", SPARK_ROWS)):
        small = Setting(100_000, slide, source=source)
        for store in STORES:
            timed_ours(spark, small)
            timed_rival(spark, small, store)
    settings = {
        "60-60": Setting(full, "60"),
        "60-6": Setting(full, "6"),
        "60-1": Setting(full, "1"),
        "60-0.1": Setting(full // 20, "0.1"),
        "60-1-100k-keys": Setting(full // 50, "1", 100_000),
        "60-1-csv": Setting(full // 4, "1", source=CSV),
        "60-1-spark-rows": Setting(full // 4, "1", source=SPARK_ROWS),
    }
    for name, setting in settings.items():
        yield case(spark, name, setting)


def case(spark: SparkSession, name: str, setting: Setting) -> Case:
    extra: dict[str, object] = {"rows": setting.rows}
    return Case(
        name=name,
        ours=partial(timed_ours, spark, setting),
        rival=FastestStore(partial(timed_rival, spark, setting), STORES, extra),
        rival_name="Spark's window()",
        repeats=3,
        warm_up=0,
        once_above=ONCE_ABOVE,
        ours_io=OURS_IO[setting.source],
        rival_io=RIVAL_IO[setting.source],
        extra=extra,
    )


def timed_ours(spark: SparkSession, setting: Setting) -> Timed:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, setting)
        declare = partial(declare_stream, spark, folder, setting)
        seconds = run_ours(spark, ours(folder, setting), folder / "in", before=declare)
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
    write_files(folder / "in", rows, max(1, setting.rows // PER_FILE), setting.format)


def declare_stream(spark: SparkSession, folder: Path, setting: Setting, engine: Engine) -> None:
    if setting.source == SPARK_ROWS:
        rows = read_files(spark, folder / "in", SCHEMA, FILES_PER_TRIGGER)
        engine.stream("s", rows, timestamp="ts", slack=f"{DISORDER} seconds")
        return
    engine.sql(
        f"CREATE STREAM s ({SCHEMA}) FROM {setting.format} '{folder}/in' "
        f"OPTIONS (maxFilesPerTrigger '{FILES_PER_TRIGGER}') TIMESTAMP BY ts "
        f"SLACK {DISORDER} SECONDS"
    )


def ours(folder: Path, setting: Setting) -> str:
    return (
        f"CREATE QUERY q INTO parquet '{folder}/out' AS SELECT k, sum(v) AS total, count(*) AS n "
        f"FROM s [RANGE {RANGE} SECONDS, SLIDE {setting.slide} SECONDS] GROUP BY k"
    )


def rival(spark: SparkSession, folder: Path, setting: Setting) -> DataFrame:
    rows = read_files(spark, folder / "in", SCHEMA, FILES_PER_TRIGGER, setting.format)
    window = F.window("ts", f"{RANGE} seconds", f"{setting.slide} seconds")
    counted: DataFrame = (
        rows.withWatermark("ts", f"{DISORDER} seconds")
        .groupBy("k", window.alias("w"))
        .agg(F.sum("v").alias("total"), F.count("*").alias("n"))
    )
    return counted.select("k", "total", "n", F.col("w.end").alias("window_end"))


def answer(folder: Path) -> pl.DataFrame:
    """All rows; Spark does not write where windows begin, which follows from where they end."""
    rows = pl.concat(pl.read_parquet(file) for file in sorted(folder.glob("*.parquet")))
    rows = rows.with_columns(cs.starts_with("window_").dt.epoch("us"))
    if "window_start" not in rows.columns:
        rows = rows.with_columns(window_start=pl.col("window_end") - RANGE * SECOND)
    return rows
