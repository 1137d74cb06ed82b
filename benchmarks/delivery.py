"""Results that leave from the tasks, against the same results sent through the driver.

Two streams are joined so that every row has twenty partners: 20 M results of four columns from
2 x 1 M rows, in micro-batches of 20 s of each stream, written to parquet files. Both sides are
ours, and differ in nothing but who writes: the tasks that compute results, or the driver, as it was
before (Spark's setting `spark.penstock.delivery = driver`, which is there for this comparison).

What counts is the time from the end of a first small batch, which starts the query, to the last
result. Answers are compared by the number of rows and by sums over all columns. The columns
`driver_mb` tell by how much the memory of the driver's Python has grown at most while results were
written; a case with a quarter of the results shows whether that follows their number.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from _streams import SECOND, START, arrivals, run_ours, write_files
from pyspark.sql import SparkSession

from penstock.lab.benchmarking import Case, Timed
from penstock.spark.delivery.batch_delivery import DELIVERY
from penstock.spark.session import changed, local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

RATE, KEYS, BAND, DISORDER = 10_000, 10_000, 10, 1
FILE_SECONDS, FILES_PER_TRIGGER = 10, 2
SCHEMA = "k BIGINT, id BIGINT, ts TIMESTAMP"

_READ = "parquet, read in our tasks by Arrow"


def cases(quick: bool) -> Iterator[Case]:
    spark = local_session()
    for seconds in (25,) if quick else (25, 100):
        partners = 2 * BAND * RATE // KEYS
        yield case(spark, f"results-{seconds * RATE * partners // 1_000_000}M", seconds)


def case(spark: SparkSession, name: str, seconds: int) -> Case:
    extra: dict[str, object] = {"rows": 2 * seconds * RATE}
    return Case(
        name=name,
        ours=partial(timed, spark, seconds, "tasks", extra),
        rival=partial(timed, spark, seconds, "driver", extra),
        rival_name="through the driver",
        repeats=3,
        warm_up=1,
        ours_io=f"{_READ} → parquet by Polars in the tasks, joined by the driver",
        rival_io=f"{_READ} → rows to the driver, parquet by Polars there",
        extra=extra,
    )


def timed(spark: SparkSession, seconds: int, delivery: str, extra: dict[str, object]) -> Timed:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, seconds)
        with changed(spark, {DELIVERY: delivery}), Growth() as growth:
            took = run_ours(spark, query(folder), folder / "a", folder / "b")
        extra[f"driver_mb_{delivery}"] = round(growth.most / 1e6)
        return Timed(answer(folder / "out"), took)


def write(folder: Path, seconds: int) -> None:
    for seed, side in enumerate(("a", "b")):
        rng = np.random.default_rng(seed)
        rows = seconds * RATE
        times = arrivals(rows, RATE, DISORDER, rng)
        keys = rng.integers(0, KEYS, rows)
        frame = pl.DataFrame({"k": keys, "id": np.arange(rows), "ts": times})
        write_files(folder / side, frame, -(-seconds // FILE_SECONDS))


def query(folder: Path) -> str:
    streams = "".join(
        f"CREATE STREAM {side} ({SCHEMA}) FROM parquet '{folder}/{side}' "
        f"OPTIONS (maxFilesPerTrigger '{FILES_PER_TRIGGER}') TIMESTAMP BY ts "
        f"SLACK {DISORDER} SECONDS;"
        for side in ("a", "b")
    )
    return (
        f"{streams}CREATE QUERY q INTO parquet '{folder}/out' AS "
        "SELECT a.k AS k, a.id AS a, b.id AS b, a.ts AS ts FROM a JOIN b ON a.k = b.k "
        f"AND b.ts BETWEEN a.ts - INTERVAL {BAND} SECONDS AND a.ts + INTERVAL {BAND} SECONDS"
    )


def answer(folder: Path) -> dict[str, Any]:
    """How many results there are, and sums over them."""
    found = pl.scan_parquet(sorted(folder.glob("*.parquet")))
    second = (pl.col("ts").dt.epoch("us") - START) // SECOND
    sums = found.select(
        pl.len(), pl.col("k").sum(), pl.col("a").sum(), pl.col("b").sum(), second.sum()
    )
    return sums.collect().row(0, named=True)


class Growth:
    """By how many bytes the memory of this process grows at most, while it is looked at."""

    def __enter__(self) -> Growth:
        self._before, self.most = _memory(), 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            self.most = max(self.most, _memory() - self._before)


def _memory() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
