"""A silent stream: how many triggers results wait for it, here and in plain Structured Streaming.

A busy stream brings a file every second, stamped with the time of day; a second one is silent until
shortly before the end. Their union is counted in sliding windows, and the busy one is joined, left
outer, with the silent one. A result is possible as soon as the busy stream has come far enough for
it; what counts is how many triggers later it is there, at the worst. The silent stream declares
that its time lags at most a second behind the clock; rows of both come at most a second late.

Spark has the same watermarks on both streams. Its answer is complete only when the silent one has
spoken; what is not there before is counted as waiting until then. `ratio` is our delay in triggers,
the longest of all runs that count; `ours` and `rival` are the longest delays of a run in seconds,
medians of three, after a run of each that does not count.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.lab.benchmarking import Case, Timed
from penstock.model.timestamps import to_ticks
from penstock.spark.engine import Engine
from penstock.spark.session import changed, local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

SECOND = 1_000_000
ROWS = 200  # of a file of the busy stream
SCHEMA = "k BIGINT, ts TIMESTAMP"
UNION, JOIN = "union-triggers", "join-triggers"
OURS, RIVAL = "our triggers", "rival's triggers"
REPEATS = 3

QUERIES = {
    UNION: "SELECT count(*) [RANGE 4 SECONDS, SLIDE 1 SECOND, WA ts] AS n FROM busy UNION silent",
    JOIN: "SELECT b.k, b.ts AS at, s.ts AS partner FROM busy b LEFT JOIN silent s "
    "ON b.k = s.k WITHIN 1 SECOND",
}
#: The time of the busy stream from which on a result is possible.
POSSIBLE: dict[str, Callable[[dict[str, Any]], int]] = {
    UNION: lambda row: ticks(row["window_end"]),
    JOIN: lambda row: ticks(row["at"]) + SECOND,
}


@dataclass
class Seen:
    """What became known of a run, by number of the micro-batch."""

    bounds: dict[int, int] = field(default_factory=dict)  # of the busy stream so far
    ends: dict[int, float] = field(default_factory=dict)
    results: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    busy: list[tuple[int, int]] = field(default_factory=list)  # every row that was written
    silent: list[tuple[int, int]] = field(default_factory=list)
    spoken: int = 0  # the time when the silent one spoke


class Triggers:
    """How many triggers results waited: the most of the latest runs, by whose they are."""

    def __init__(self) -> None:
        self._runs: dict[str, list[int]] = {OURS: [], RIVAL: []}
        self.worst: dict[str, int] = {}

    def add(self, whose: str, delay: int) -> None:
        self._runs[whose].append(delay)
        self.worst[whose] = max(self._runs[whose][-REPEATS:])  # without the warm-up


def cases(quick: bool) -> Iterator[Case]:
    spark = local_session()
    for name in (UNION, JOIN):
        triggers = Triggers()
        yield Case(
            name=name,
            ours=partial(ours, spark, name, 8 if quick else 20, triggers),
            rival=partial(rival, spark, name, 8 if quick else 20, triggers),
            rival_name="Structured Streaming",
            repeats=REPEATS,
            warm_up=1,
            difference=difference,
            ratio=lambda ours, rival, triggers=triggers: float(triggers.worst[OURS]),  # type: ignore[misc]
            ours_io="parquet, read in our tasks by Arrow → parquet by Polars",
            rival_io="parquet, read by Spark → collected by foreachBatch",
            extra=triggers.worst,
        )


def ours(spark: SparkSession, name: str, files: int, triggers: Triggers) -> Timed:
    seen = Seen()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        engine = Engine(spark)
        for stream, more in (("busy", ""), ("silent", "SKEW 1 SECOND")):
            (folder / stream).mkdir()
            engine.sql(
                f"CREATE STREAM {stream} ({SCHEMA}) FROM parquet '{folder / stream}' "
                f"TIMESTAMP BY ts SLACK 1 SECOND {more}"
            )
        engine.sql(f"CREATE QUERY q INTO parquet '{folder / 'out'}' AS {QUERIES[name]}")
        engine.start()

        def look() -> None:
            latest = (engine.query("q").lastProgress or {}).get("penstock")
            if latest and latest["batch"] is not None and latest["batch"] not in seen.ends:
                seen.ends[latest["batch"]] = time.monotonic()
                seen.bounds[latest["batch"]] = latest["bounds"]["busy"]

        feed(folder, files, look, seen)
        engine.process_available()
        look()
        engine.stop()
        for file in (folder / "out").glob("part-*.parquet"):
            seen.results[int(file.stem.split("-")[1])] = pl.read_parquet(file).to_dicts()
    return judged(name, seen, triggers, OURS)


def rival(spark: SparkSession, name: str, files: int, triggers: Triggers) -> Timed:
    seen = Seen()
    checkpoint = tempfile.mkdtemp()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        frame = plain(spark, name, folder)

        def keep(results: DataFrame, batch: int) -> None:
            seen.results[batch] = [row.asDict() for row in results.collect()]

        with changed(spark, {"spark.sql.streaming.noDataMicroBatches.enabled": "true"}):
            query = (
                frame.writeStream.foreachBatch(keep)
                .option("checkpointLocation", checkpoint)
                .start()
            )
        newest = 0

        def look() -> None:
            nonlocal newest
            for progress in query.recentProgress:
                if progress["batchId"] not in seen.ends:
                    observed = progress["observedMetrics"].get("busy")
                    newest = max(newest, ((observed and observed["newest"]) or 0) - SECOND)
                    seen.ends[progress["batchId"]] = time.monotonic()
                    seen.bounds[progress["batchId"]] = newest

        feed(folder, files, look, seen)
        query.processAllAvailable()
        look()
        query.stop()
    shutil.rmtree(checkpoint, ignore_errors=True)
    return judged(name, seen, triggers, RIVAL)


def plain(spark: SparkSession, name: str, folder: Path) -> DataFrame:
    """The query as Spark's own streaming offers it."""
    frames = {}
    for stream in ("busy", "silent"):
        (folder / stream).mkdir()
        read = spark.readStream.schema(SCHEMA).parquet(str(folder / stream))
        if stream == "busy":
            read = read.observe("busy", F.unix_micros(F.max("ts")).alias("newest"))
        frames[stream] = read.withWatermark("ts", "1 second")
    if name == UNION:
        both = frames["busy"].union(frames["silent"])
        counted = both.groupBy(F.window("ts", "4 seconds", "1 second")).count()
        return counted.select(
            F.col("count").alias("n"),
            F.col("window.start").alias("window_start"),
            F.col("window.end").alias("window_end"),
        )
    b, s = frames["busy"].alias("b"), frames["silent"].alias("s")
    within = F.expr(
        "b.k = s.k AND s.ts BETWEEN b.ts - INTERVAL 1 SECOND AND b.ts + INTERVAL 1 SECOND"
    )
    joined = b.join(s, within, "left")
    return joined.select("b.k", F.col("b.ts").alias("at"), F.col("s.ts").alias("partner"))


def feed(folder: Path, files: int, look: Callable[[], None], seen: Seen) -> None:
    """Files of the busy stream, one a second; at last the silent one speaks, and both go on."""
    for number in range(files + 3):
        now = time.time_ns() // 1000
        start = max([now - SECOND, *(ts + 1 for _, ts in seen.busy[-1:])])
        rows = [(k, start + k * (now - start) // ROWS) for k in range(ROWS)]
        seen.busy += write(folder / "busy", number, rows)
        if number > files:
            seen.silent += write(folder / "silent", number, [(0, now)])
            seen.spoken = seen.spoken or now
        pause = time.monotonic() + 1
        # The first batch takes long, and is waited for: the rest shall be one of many.
        while time.monotonic() < pause or not seen.ends:
            time.sleep(0.05)
            look()


def write(folder: Path, number: int, rows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    frame = pl.DataFrame(rows, {"k": pl.Int64, "ts": pl.Int64}, orient="row")
    hidden = folder / f".{number:05d}"
    frame.with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC"))).write_parquet(hidden)
    hidden.rename(folder / f"{number:05d}.parquet")
    return rows


def judged(name: str, seen: Seen, triggers: Triggers, whose: str) -> Timed:
    """The longest delay of results that were possible before the silent stream spoke."""
    batches = sorted(seen.ends)
    worst, longest = 0, 0.0
    found: list[tuple[object, ...]] = []
    for batch, rows in seen.results.items():
        for row in rows:
            possible = POSSIBLE[name](row)
            if possible > seen.spoken - 2 * SECOND:
                continue
            found.append(values(row))
            first = next((b for b in batches if seen.bounds[b] >= possible), batch)
            worst = max(worst, batch - first)
            if batch in seen.ends:
                longest = max(longest, seen.ends[batch] - seen.ends[first])
    triggers.add(whose, worst)
    return Timed(Counter(found) == Counter(expected(name, seen)), longest)


def values(row: dict[str, Any]) -> tuple[object, ...]:
    """A result in the shape of `expected`."""
    if "k" in row:
        return row["k"], ticks(row["at"]), row["partner"]
    return ticks(row["window_start"]), ticks(row["window_end"]), row["n"]


def expected(name: str, seen: Seen) -> Iterator[tuple[object, ...]]:
    """The results that were possible before the silent stream spoke, from their definition."""
    last = seen.spoken - 2 * SECOND
    if name == JOIN:
        yield from ((k, ts, None) for k, ts in seen.busy if ts + SECOND <= last)
        return
    times = [ts for _, ts in seen.busy]
    for end in range(min(times) // SECOND * SECOND + SECOND, last + 1, SECOND):
        count = sum(end - 4 * SECOND <= ts < end for ts in times)
        if count:
            yield end - 4 * SECOND, end, count


def difference(ours: bool, rival: bool) -> str | None:
    """The clock runs on between the two, so each is held against the definition."""
    wrong = [who for who, right in (("ours", ours), ("the rival's", rival)) if not right]
    return f"answers of {' and '.join(wrong)} are not what the rows say" if wrong else None


def ticks(value: datetime) -> int:
    return to_ticks(value if value.tzinfo else value.replace(tzinfo=timezone.utc))
