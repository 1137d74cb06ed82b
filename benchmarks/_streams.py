"""What benchmarks on Spark share: files of rows in order of arrival, and runs over them."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from pyspark.sql import DataFrame, SparkSession

from penstock.spark.engine import Engine
from penstock.spark.session import TUNING, changed

START = 1_700_000_000_000_000
SECOND = 1_000_000
#: Rows of the first file.
FIRST = 1_000

_STATE = "spark.sql.streaming.stateStore."
#: Spark's state stores, each as fast as its settings make it.
DEFAULT_STORE = {_STATE + "providerClass": "", _STATE + "checkpointFormatVersion": ""}
ROCKSDB = {key: value for key, value in TUNING.items() if key.startswith(_STATE)}


def arrivals(
    rows: int, rate: float, disorder: float, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Timestamps of an even stream, in order of arrival: each up to `disorder` seconds late."""
    times = START + (np.arange(rows) * (SECOND / rate)).astype(np.int64)
    late = (rng.random(rows) * disorder * SECOND).astype(np.int64)
    ordered: npt.NDArray[np.int64] = times[np.argsort(times + late, kind="stable")]
    return ordered


def write_files(folder: Path, rows: pl.DataFrame, files: int) -> None:
    """The rows as parquet files, in order of age; all but the first wait until `release`.

    The first is small: it starts the query. The last is one row far ahead, which closes everything
    before it.
    """
    folder.mkdir(parents=True)
    waiting = folder.with_name(f"{folder.name}-waiting")
    waiting.mkdir()
    shown = rows.with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))
    ahead = shown[-1:].with_columns(pl.lit(-1).alias("k"), pl.col("ts").dt.offset_by("1h"))
    step = -(-(rows.height - FIRST) // files)
    parts = [shown[FIRST + n * step : FIRST + (n + 1) * step] for n in range(files)]
    for number, part in enumerate((shown[:FIRST], *parts, ahead)):
        file = (waiting if number else folder) / f"{number:05d}.parquet"
        part.write_parquet(file)
        os.utime(file, (1_700_000_000 + number,) * 2)


def release(*folders: Path) -> None:
    """Let the files that wait arrive."""
    for folder in folders:
        for file in sorted(folder.with_name(f"{folder.name}-waiting").iterdir()):
            file.rename(folder / file.name)


def run_ours(spark: SparkSession, sql: str, *folders: Path) -> float:
    """Seconds that Penstock takes for all files but the first ones."""
    engine = Engine(spark)
    engine.sql(sql)
    engine.start()
    engine.process_available()
    begun = time.perf_counter()
    release(*folders)
    engine.process_available()
    seconds = time.perf_counter() - begun
    engine.stop()
    return seconds


def run_rival(
    spark: SparkSession,
    frame: Callable[[], DataFrame],
    into: Path,
    settings: Mapping[str, str],
    *folders: Path,
) -> float:
    """Seconds that a Spark query takes for the same, written to parquet files."""
    checkpoint = tempfile.mkdtemp()
    # Batches for the sake of the watermark, without which the last windows would not close.
    with changed(spark, {"spark.sql.streaming.noDataMicroBatches.enabled": "true", **settings}):
        query = (
            frame()
            .writeStream.format("parquet")
            .option("path", str(into))
            .option("checkpointLocation", checkpoint)
            .start()
        )
        try:
            query.processAllAvailable()
            begun = time.perf_counter()
            release(*folders)
            query.processAllAvailable()
            seconds = time.perf_counter() - begun
        finally:
            query.stop()
            shutil.rmtree(checkpoint, ignore_errors=True)
    return seconds


def read_files(spark: SparkSession, folder: Path, schema: str, per_trigger: int) -> DataFrame:
    return (
        spark.readStream.schema(schema)
        .option("maxFilesPerTrigger", per_trigger)
        .parquet(str(folder))
    )
