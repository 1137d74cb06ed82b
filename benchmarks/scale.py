"""The cost of a micro-batch against the size of the state: 0.1, 1 and 10 million rows.

Sums by key in one window that stays open. First every key comes once, which fills the state; then
batches of 20 000 rows over keys drawn from all of them, and what counts is the median duration of
these; `ours_p95` and `rival_p95` are the 95th percentiles over the batches of all runs, in seconds.
The arrival rate is the same for all sizes. The kernel keeps the state: left to itself the engine
would hand this query to Spark's own aggregation. `ratio` is the time with the smallest state over
the time with this one.

Sums and counts of all keys are held against those of the rows. Before anything counts, a run with
the smallest state; in every run the first three batches do not count. Times are medians of three
runs.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from pyspark.sql import SparkSession

from penstock.lab.benchmarking import Case, Timed, difference
from penstock.spark.engine import Engine
from penstock.spark.session import local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

ROWS = 20_000
FILL = 1_000_000  # rows a batch while the state is filled
START = 1_700_000_000_000_000
SMALLEST = 100_000
IO = "parquet, read in our tasks by Arrow → memory"


def cases(quick: bool) -> Iterator[Case]:
    batches = 10 if quick else 20
    spark = local_session()
    timed(spark, SMALLEST, 5, [])
    for name, keys in (("state-1M", 1_000_000), ("state-10M", 10_000_000)):
        if quick and keys > 1_000_000:
            continue
        extra: dict[str, object] = {"state_rows": keys, "batch_rows": ROWS}
        yield Case(
            name=name,
            ours=with_p95(partial(timed, spark, keys, batches), extra, "ours_p95"),
            rival=with_p95(partial(timed, spark, SMALLEST, batches), extra, "rival_p95"),
            rival_name="ours, 0.1 M",
            repeats=3,
            warm_up=0,
            difference=first_wrong,
            ours_io=IO,
            rival_io=IO,
            extra=extra,
        )


def first_wrong(ours: str | None, rival: str | None) -> str | None:
    wrong = ours or rival
    return wrong and f"{wrong} (what the rows say)"


def with_p95(
    run: Callable[[list[float]], Timed], extra: dict[str, object], column: str
) -> Callable[[], Timed]:
    """The runs, which also say the 95th percentile over the batches of all of them so far."""
    durations: list[float] = []

    def noted() -> Timed:
        found = run(durations)
        extra[column] = round(float(np.percentile(durations, 95)), 3)
        return found

    return noted


def timed(spark: SparkSession, keys: int, batches: int, durations: list[float]) -> Timed:
    """The median duration of a batch once the state is full; all are added to `durations`.

    The answer is its first difference to what is right; None if there is none.
    """
    with tempfile.TemporaryDirectory() as folder:
        return _timed(spark, keys, batches, durations, Path(folder))


def _timed(
    spark: SparkSession, keys: int, batches: int, durations: list[float], folder: Path
) -> Timed:
    engine = Engine(spark, max_results=keys)
    engine.sql(
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
    counts = np.ones(keys, dtype=np.int64)
    for _ in range(batches):
        drawn = rng.integers(0, keys, ROWS)
        counts += np.bincount(drawn, minlength=keys)
        write(folder, number, drawn)
        number += 1
        engine.process_available()
    # The first few still compile and fill caches.
    measured = [
        p["batchDuration"] / 1000 for p in query.recentProgress if p["batchId"] > filled + 3
    ]
    durations += measured
    state = engine.query("sums").lastProgress or {}
    engine.finish()
    if state["penstock"]["state_rows"] < keys:
        return Timed(f"a state of {state['penstock']['state_rows']} rows, not {keys}", 0.0)
    totals = engine.query("sums").results().drop("window_start", "window_end")
    every = np.arange(keys)
    right = pl.DataFrame({"k": every, "total": value_of(every) * counts, "n": counts})
    return Timed(difference(totals, right), statistics.median(measured))


def value_of(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """What every row of a key has as its value."""
    return keys % 100


def write(folder: Path, number: int, keys: npt.NDArray[np.int64]) -> None:
    """A file of rows, complete when Spark first sees it."""
    times = START + number * 1_000_000 + np.zeros(len(keys), dtype=np.int64)
    rows = pl.DataFrame({"k": keys, "v": value_of(keys), "ts": times})
    rows = rows.with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))
    hidden = folder / f".{number:05d}"
    rows.write_parquet(hidden)
    hidden.rename(folder / f"{number:05d}.parquet")
