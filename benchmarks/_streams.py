"""What benchmarks on Spark share: files of rows in order of arrival, and runs over them."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import polars as pl
from pyspark.sql import DataFrame, SparkSession

from penstock.lab.benchmarking import Timed
from penstock.spark.engine import Engine
from penstock.spark.session import TUNING, changed

START = 1_700_000_000_000_000
SECOND = 1_000_000
#: Rows of the first file.
FIRST = 1_000
#: The key of the row that closes everything.
_NO_KEY = MappingProxyType({"k": -1})

#: Spark's side is run once where a run takes longer, in seconds.
ONCE_ABOVE = 60.0

#: How each side reads and writes, by where rows come from.
OURS_IO = {
    "parquet": "parquet, read in our tasks by Arrow → parquet by Polars",
    "csv": "CSV, read in our tasks by Arrow, checked → parquet by Polars",
    "spark-rows": "parquet, read by Spark, rows handed to Python → parquet by Polars",
}
RIVAL_IO = {
    "parquet": "parquet, read by Spark → parquet by Spark",
    "csv": "CSV, read by Spark with the schema declared, unchecked → parquet by Spark",
    "spark-rows": "parquet, read by Spark → parquet by Spark",
}

_STATE = "spark.sql.streaming.stateStore."
#: Spark's state stores, each as fast as its settings make it.
DEFAULT_STORE = {_STATE + "providerClass": "", _STATE + "checkpointFormatVersion": ""}
ROCKSDB = {key: value for key, value in TUNING.items() if key.startswith(_STATE)}
STORES: dict[str, dict[str, str]] = {"default": DEFAULT_STORE, "rocksdb": ROCKSDB}


def arrivals(
    rows: int, rate: float, disorder: float, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Timestamps of an even stream, in order of arrival: each up to `disorder` seconds late."""
    times = START + (np.arange(rows) * (SECOND / rate)).astype(np.int64)
    late = (rng.random(rows) * disorder * SECOND).astype(np.int64)
    ordered: npt.NDArray[np.int64] = times[np.argsort(times + late, kind="stable")]
    return ordered


def write_files(
    folder: Path,
    rows: pl.DataFrame,
    files: int,
    format_: str = "parquet",
    *,
    first: int = FIRST,
    timestamp: str = "ts",
    ahead_by: str = "1h",
    ahead_rows: int = 1,
    keys: Mapping[str, int] = _NO_KEY,
) -> None:
    """The rows as parquet or CSV files, in order of age; all but the first wait until `release`.

    The first has `first` rows: it starts the query. The last has `ahead_rows` far ahead, which
    close everything before them; `keys` are their values in columns where they must not meet other
    rows. CSV files have a header, and times as both sides read them without being told how.
    """
    folder.mkdir(parents=True)
    waiting = folder.with_name(f"{folder.name}-waiting")
    waiting.mkdir()
    shown = rows.with_columns(pl.col(timestamp).cast(pl.Datetime("us", "UTC")))
    ahead = shown[-ahead_rows:].with_columns(
        *(pl.lit(value, dtype=shown.schema[key]).alias(key) for key, value in keys.items()),
        pl.col(timestamp).dt.offset_by(ahead_by),
    )
    step = -(-(rows.height - first) // files)
    parts = [shown[first + n * step : first + (n + 1) * step] for n in range(files)]
    for number, part in enumerate((shown[:first], *parts, ahead)):
        file = (waiting if number else folder) / f"{number:05d}.{format_}"
        if format_ == "csv":
            part.write_csv(file, datetime_format="%Y-%m-%d %H:%M:%S%.6f")
        else:
            part.write_parquet(file)
        os.utime(file, (1_700_000_000 + number,) * 2)


def release(*folders: Path) -> None:
    """Let the files that wait arrive."""
    for folder in folders:
        for file in sorted(folder.with_name(f"{folder.name}-waiting").iterdir()):
            file.rename(folder / file.name)


def run_ours(
    spark: SparkSession,
    sql: str,
    *folders: Path,
    before: Callable[[Engine], object] = lambda engine: None,
) -> float:
    """Seconds that Penstock takes for all files but the first ones.

    `before` declares what `sql` needs and cannot say: streams that are DataFrames.
    """
    engine = Engine(spark)
    before(engine)
    engine.sql(sql)
    engine.start()
    return run_to_end(engine, *folders)


def run_to_end(engine: Engine, *folders: Path) -> float:
    """Seconds that an engine which was started takes for all files but the first; it is stopped."""
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


def read_files(
    spark: SparkSession, folder: Path, schema: str, per_trigger: int, format_: str = "parquet"
) -> DataFrame:
    """Files as Spark reads them best: with the schema declared, and nothing checked."""
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", per_trigger)
    if format_ == "csv":
        return reader.option("header", "true").csv(str(folder))
    return reader.parquet(str(folder))


@dataclass
class FastestStore:
    """A rival that tries all of Spark's state stores in its first run, and keeps to the fastest.

    The first run takes the time of the fastest, so that the choice favours the rival if anything.
    `extra` learns which store it is.
    """

    run: Callable[[str], Timed]
    stores: Iterable[str]
    extra: dict[str, object]

    def __call__(self) -> Timed:
        if "store" not in self.extra:
            runs = {store: self.run(store) for store in self.stores}
            self.extra["store"] = min(runs, key=lambda store: runs[store].seconds)
            return runs[str(self.extra["store"])]
        return self.run(str(self.extra["store"]))
