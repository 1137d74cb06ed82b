"""The cost of a micro-batch against the size of the state: 0.1, 1 and 10 million rows.

Sums by key in one window that stays open. First every key comes once, which fills the state; then
batches of 20 000 rows over keys drawn from all of them, and what counts is the median duration of
these. The arrival rate is the same for all sizes. The kernel keeps the state: left to itself the
engine would hand this query to Spark's own aggregation. `ratio` is the time with the smallest state
over the time with this one.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from pyspark.sql import SparkSession

from penstock.lab.benchmarking import Case, Timed
from penstock.spark.engine import Engine
from penstock.spark.session import local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

ROWS = 20_000
FILL = 1_000_000  # rows a batch while the state is filled
START = 1_700_000_000_000_000
SMALLEST = 100_000


def cases(quick: bool) -> Iterator[Case]:
    batches = 10 if quick else 20
    spark = local_session()
    for name, keys in (("state-1M", 1_000_000), ("state-10M", 10_000_000)):
        if quick and keys > 1_000_000:
            continue
        yield Case(
            name=name,
            ours=partial(timed, spark, keys, batches),
            rival=partial(timed, spark, SMALLEST, batches),
            rival_name="ours with a state of 0.1 M",
            repeats=1,
            warm_up=0,
            difference=difference,
            extra={"state_rows": keys, "rows_per_batch": ROWS},
        )


def difference(ours: bool, rival: bool) -> str | None:
    return None if ours and rival else "the sums are wrong"


def timed(spark: SparkSession, keys: int, batches: int) -> Timed:
    """The median duration of a batch once the state is full, and whether the sums are right."""
    with tempfile.TemporaryDirectory() as folder:
        return _timed(spark, keys, batches, Path(folder))


def _timed(spark: SparkSession, keys: int, batches: int, folder: Path) -> Timed:
    engine = Engine(spark)
    engine.sql(
        "SET lowering = kernel;"
        f"CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP) FROM parquet '{folder}' "
        "OPTIONS (maxFilesPerTrigger '1') TIMESTAMP BY ts SLACK 1 SECOND;"
        "CREATE QUERY sums AS SELECT k, sum(v) AS total, count(*) AS n FROM s [RANGE 365 DAYS] "
        "GROUP BY k"
    )
    write(folder, 0, np.arange(min(FILL, keys)))
    engine.start()
    number = 0
    for first in range(0, keys, FILL):
        if number:
            write(folder, number, np.arange(first, min(first + FILL, keys)))
        number += 1
        engine.process_available()
    query = engine.spark_query("sums")
    assert query is not None
    filled = int((query.lastProgress or {"batchId": 0})["batchId"])
    rng = np.random.default_rng(keys)
    for _ in range(batches):
        write(folder, number, rng.integers(0, keys, ROWS))
        number += 1
        engine.process_available()
    # The first few still compile and fill caches.
    measured = [p["batchDuration"] for p in query.recentProgress if p["batchId"] > filled + 3]
    state = engine.query("sums").lastProgress or {}
    engine.finish()
    totals = engine.query("sums").results()
    right = (
        state["penstock"]["state_rows"] >= keys
        and totals.height == keys
        and int(totals["n"].sum()) == keys + batches * ROWS
        and int(totals["total"].sum()) == keys + batches * ROWS
    )
    return Timed(right, float(statistics.median(measured)) / 1000)


def write(folder: Path, number: int, keys: npt.NDArray[np.int64]) -> None:
    """A file of rows with value 1, complete when Spark first sees it."""
    times = START + number * 1_000_000 + np.zeros(len(keys), dtype=np.int64)
    rows = pl.DataFrame({"k": keys, "v": np.ones(len(keys), dtype=np.int64), "ts": times})
    rows = rows.with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))
    hidden = folder / f".{number:05d}"
    rows.write_parquet(hidden)
    hidden.rename(folder / f"{number:05d}.parquet")
