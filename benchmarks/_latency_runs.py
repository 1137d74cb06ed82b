"""Runs of `latency`: one side follows a feed, and what it puts out is stamped with the clock."""

from __future__ import annotations

import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import Any

import polars as pl
from _feed import SECOND, Fed, fed, feeding
from _latencies import Latency, latency
from _latency_queries import WARM_UP, Setting, expected, plain, sql
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.spark.engine import Engine
from penstock.spark.session import LOCAL_TUNING, TUNING, changed

PATIENCE = 10.0  # seconds in which a side may work off what is left when the feed is over

_DEFAULTS = {key: "" for key in (*TUNING, *LOCAL_TUNING) if key.startswith("spark.sql.streaming.")}
_EXTRA_BATCHES = {"spark.sql.streaming.noDataMicroBatches.enabled": "true"}
SETTINGS = {"defaults": {**_DEFAULTS, **_EXTRA_BATCHES}, "tuned": _EXTRA_BATCHES}


@dataclass
class Run:
    """What became known of one side."""

    got: list[tuple[int, pl.DataFrame]] = field(default_factory=list)  # results, by when they came
    batches: list[dict[str, Any]] = field(default_factory=list)  # as Spark tells of them
    fed: Fed | None = None
    end: int = 0
    is_over: bool = True  # else it was stopped while it had work left

    def keep(self, rows: pl.DataFrame) -> None:
        self.got.append((now(), rows))


def ours(spark: SparkSession, setting: Setting) -> Run:
    run = Run()
    with tempfile.TemporaryDirectory() as name, feeding(setting.feed, Path(name)) as feed:
        engine = Engine(spark)
        engine.sql(sql(Path(name), setting))
        engine.query("q").subscribe(run.keep)
        engine.start()
        query = engine.spark_query("q")
        assert query is not None
        follow(query, feed, run)
        engine.stop()
        run.fed = fed(Path(name))
    return run


def rival(spark: SparkSession, setting: Setting, settings: str) -> Run:
    run = Run()

    def keep(frame: DataFrame, batch: int) -> None:
        rows = pl.from_arrow(frame.toArrow())
        assert isinstance(rows, pl.DataFrame)
        run.keep(rows)

    with (
        tempfile.TemporaryDirectory() as checkpoint,
        tempfile.TemporaryDirectory() as name,
        feeding(setting.feed, Path(name)) as feed,
    ):
        with changed(spark, SETTINGS[settings]):
            query = (
                plain(spark, Path(name), setting)
                .writeStream.foreachBatch(keep)
                .option("checkpointLocation", checkpoint)
                .trigger(processingTime="0 seconds")
                .start()
            )
        follow(query, feed, run)
        query.stop()
        run.fed = fed(Path(name))
    return run


def follow(query: StreamingQuery, feed: Popen[bytes], run: Run) -> None:
    """Wait until the feed is over and everything is worked off, or patience has run out."""
    batches: dict[int, dict[str, Any]] = {}

    def look() -> bool:
        if (failed := query.exception()) is not None:
            raise failed
        batches.update((each["batchId"], each) for each in query.recentProgress)
        status = query.status
        # It looks for files all the time, so whether a trigger is active says nothing.
        looks = str(status["message"]).startswith(("Waiting", "Getting offsets"))
        return looks and not status["isDataAvailable"]

    while feed.poll() is None:
        look()
        with suppress(TimeoutExpired):
            feed.wait(5)  # looking takes time from the query
    patient = time.monotonic() + PATIENCE
    idle = 0
    while idle < 5 and time.monotonic() < patient:
        idle = idle + 1 if look() else 0
        time.sleep(0.2)
    run.is_over = idle == 5
    run.end = now()
    run.batches = [batches[number] for number in sorted(batches)]


def judged(setting: Setting, run: Run) -> Latency:
    """What a side's results come to, held against the rows that arrived."""
    assert run.fed is not None
    begin = run.fed.start + WARM_UP * SECOND
    counted = (begin, begin + setting.seconds * SECOND)
    wanted = expected(setting, run.fed)
    return latency(wanted, together(run.got, wanted.columns[:-1]), counted, run.end, run.is_over)


def together(got: list[tuple[int, pl.DataFrame]], what: list[str]) -> pl.DataFrame:
    """All results, with the time `at` which they came."""
    times = pl.selectors.datetime().dt.epoch("us")
    parts = [
        rows.select(what).with_columns(times, pl.lit(at, pl.Int64).alias("at")) for at, rows in got
    ]
    empty = pl.DataFrame(schema=dict.fromkeys((*what, "at"), pl.Int64))
    return pl.concat([empty, *parts])


def now() -> int:
    return time.time_ns() // 1000
