"""The run of `soak`: two pipelines that are fed without end, changed now and then, and watched."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from _processes import family
from pyspark.sql import SparkSession

from penstock.spark.engine import Engine
from penstock.spark.shared_memory import MEMORY

#: Rows a second of the stream of files, and of the generated one.
CALLS, PACKETS = 500, 2_000
KEYS = 100
SAMPLE, CHANGE, LATE, TELL = 5.0, 20.0, 10, 60.0  # seconds; LATE: files between two late rows
TICKET = "k BIGINT, v BIGINT, ts TIMESTAMP"

STREAMS = f"""
CREATE STREAM calls ({TICKET}) FROM parquet '{{folder}}/calls'
  OPTIONS (cleanSource 'delete', maxFileAge '1m')
  TIMESTAMP BY ts SLACK 2 SECONDS SKEW 2 SECONDS LATE INTO parquet '{{folder}}/late';
CREATE STREAM packets (srcIP STRING, destIP STRING, len BIGINT, ts TIMESTAMP)
  FROM workload 'packets' OPTIONS (rate '{PACKETS}', rows '{{packets}}', pace '1',
                                   disorder '2 seconds')
  TIMESTAMP BY ts SLACK 2 SECONDS;
"""
QUERIES = """
CREATE QUERY counted INTO parquet '{folder}/counted' AS
  SELECT k, count(*) AS n, sum(v) AS total FROM calls [RANGE 5 SECONDS] GROUP BY k;
CREATE QUERY sliding INTO parquet '{folder}/sliding' AS
  SELECT k, max(v) AS most, avg(v) AS mean FROM calls [RANGE 30 SECONDS SLIDE 1 SECOND] GROUP BY k;
CREATE QUERY met INTO parquet '{folder}/met' AS
  SELECT c.k, c.v, o.v AS other FROM calls c JOIN orders o ON c.k = o.k WITHIN 5 SECONDS;
CREATE QUERY large INTO parquet '{folder}/large' AS
  SELECT srcIP, destIP, len FROM packets WHERE len > 1000;
"""
#: What comes and goes while the others run: the lengths of its windows.
PASSING = (
    "CREATE OR REPLACE QUERY passing AS SELECT k, count(*) AS n FROM calls "
    "[RANGE {seconds} SECONDS] GROUP BY k"
)


@dataclass
class Soak:
    """What became known of a run: samples by figure, and rows in and out."""

    samples: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    fed: int = 0
    late: int = 0
    counted: int = 0
    changes: int = 0
    batches: dict[str, int] = field(default_factory=dict)
    #: Spark's queries that have run, by their ids: what they share stays in their folders.
    spark_queries: set[str] = field(default_factory=set)

    def note(self, at: float, figure: str, value: float) -> None:
        """Take a sample, `at` so many seconds from the beginning."""
        self.samples.setdefault(figure, []).append((round(at, 2), value))

    @property
    def wrong(self) -> str | None:
        """What is not as the rows say; None: every row was counted once, or was late."""
        found = self.counted + self.late
        return None if found == self.fed else f"{found:,} rows counted or late of {self.fed:,}"


class Feed:
    """Small files, one a second, and rows from an iterable beside them; some rows are late."""

    def __init__(self, folder: Path) -> None:
        self.rows = 0
        self._folder = folder
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._write, name="soak-feed", daemon=True)
        folder.mkdir(parents=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _write(self) -> None:
        number = 0
        while not self._over.wait(1.0):
            rows = tickets(number, CALLS, is_late=number % LATE == LATE - 1)
            hidden = self._folder / f".{number:08d}"
            rows.write_parquet(hidden, compression="snappy")
            hidden.rename(self._folder / f"{number:08d}.parquet")
            self.rows += rows.height
            number += 1

    def orders(self) -> Iterator[dict[str, Any]]:
        """Rows of a program, some every second."""
        number = 0
        while not self._over.wait(0.1):
            number += 1
            yield {"k": number % KEYS, "v": number, "ts": datetime.now(timezone.utc)}


def tickets(number: int, count: int, *, is_late: bool) -> pl.DataFrame:
    """The rows of one file, spread over the second before now; the first may be a minute late."""
    random = np.random.default_rng(number)
    now = time.time_ns() // 1000
    times = now - 1_000_000 + np.arange(count) * 1_000_000 // count
    if is_late:
        times[0] -= 60_000_000
    return pl.DataFrame(
        {
            "k": random.integers(0, KEYS, count),
            "v": number * count + np.arange(count),
            "ts": pl.Series(times).cast(pl.Datetime("us", "UTC")),
        }
    )


def soak(spark: SparkSession, seconds: float, tell: Callable[[str], None]) -> Soak:
    """Run for so long, and then to the end of what has come."""
    run = Soak()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        feed = Feed(folder / "calls")
        engine = Engine(spark, checkpoint=folder / "checkpoint")
        engine.sql(STREAMS.format(folder=folder, packets=round(PACKETS * seconds)))
        engine.stream("orders", feed.orders(), columns=TICKET, timestamp="ts", slack="2 seconds")
        engine.sql(QUERIES.format(folder=folder))
        engine.start(interval="1 second")
        feed.start()
        _watch(engine, folder, run, seconds, tell)
        feed.stop()
        run.fed = feed.rows
        engine.finish()
        run.counted = int(pl.read_parquet(folder / "counted" / "*.parquet")["n"].sum())
        late = list((folder / "late").glob("*.parquet"))
        run.late = pl.read_parquet(late).height if late else 0
    return run


def _watch(
    engine: Engine, folder: Path, run: Soak, seconds: float, tell: Callable[[str], None]
) -> None:
    begun = time.monotonic()
    changed = told = heap = 0.0
    while (at := time.monotonic() - begun) < seconds:
        engine.check()
        _sample(engine, folder, run, at)
        if at >= heap:
            run.note(at, "java_live_mb", _live_heap(engine.spark))
            heap = at + seconds / 30
        if at >= changed + CHANGE:
            changed = at
            run.changes += 1
            engine.sql(PASSING.format(seconds=4 + run.changes % 5))
        if "passing" in {query.name for query in engine.queries}:
            engine.query("passing").fetch()
        if at >= told:
            told = at + TELL
            tell(_told(run, at))
        left = SAMPLE - (time.monotonic() - begun - at)
        time.sleep(max(0.0, min(left, seconds - at)))


def _told(run: Soak, at: float) -> str:
    latest = {figure: values[-1][1] for figure, values in run.samples.items()}
    return f"{at:.0f} s: " + ", ".join(f"{name} {value:g}" for name, value in latest.items())


def _sample(engine: Engine, folder: Path, run: Soak, at: float) -> None:
    for query in ("counted", "large"):
        spark_query = engine.spark_query(query)
        assert spark_query is not None
        for batch in spark_query.recentProgress:
            if batch["batchId"] > run.batches.get(query, -1) and batch["numInputRows"]:
                run.batches[query] = batch["batchId"]
                run.note(at, "batch_ms", batch["batchDuration"])
    for who, processes in family().items():
        run.note(at, f"{who}_mb", round(sum(each.bytes for each in processes) / 2**20, 1))
        run.note(at, f"{who}_threads", sum(each.threads for each in processes))
    counted = [files_in(pipeline) for pipeline in (folder / "checkpoint").iterdir()]
    run.note(at, "checkpoint_files", sum(files for files, _ in counted))
    run.note(at, "checkpoint_kb", round(sum(size for _, size in counted) / 1024))
    run.note(at, "shared_files", _shared_files(engine, run))
    run.note(at, "unread_files", files_in(folder / "calls")[0])
    temporary = engine.spark.sparkContext._temp_dir
    assert temporary is not None
    run.note(at, "temporary_files", files_in(Path(temporary).parent)[0])


def _shared_files(engine: Engine, run: Soak) -> int:
    """Files in shared memory of what has run here: other programs of the user have some, too."""
    running = [engine.spark_query(query.name) for query in engine.queries]
    run.spark_queries |= {str(query.id) for query in running if query is not None}
    ours = MEMORY / f"penstock-{os.getuid()}"
    return sum(files_in(ours / query)[0] for query in run.spark_queries)


def files_in(folder: Path) -> tuple[int, int]:
    """How many files a folder and those below it have, and their bytes."""
    files = size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += os.stat(os.path.join(place, name)).st_size
                files += 1
    return files, size


def _live_heap(spark: SparkSession) -> float:
    """What is left in Java's heap when its garbage is collected, in megabytes."""
    jvm: Any = spark._jvm
    jvm.java.lang.System.gc()
    used = jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage()
    return round(float(used.getUsed()) / 2**20, 1)


def say(text: str) -> None:
    print(f"soak: {text}", file=sys.stderr, flush=True)
