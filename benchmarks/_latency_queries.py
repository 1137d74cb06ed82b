"""The three queries of `latency`: in our SQL, as Spark's own, and what rows give."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl
from _feed import SCHEMA, SECOND, TICK, Fed, Feed
from _latencies import pairs, windows
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

KEYS, BAND = 100, 5
WARM_UP, TAIL = 5, 2  # seconds before and after those that count

WINDOWS = {"tumbling": 1, "sliding": 60}  # seconds of RANGE; all slide by one
JOIN = "join"


@dataclass(frozen=True)
class Setting:
    """One comparison."""

    query: str
    rate: int
    seconds: int  # that count

    @property
    def feed(self) -> Feed:
        length = WARM_UP + self.seconds + TAIL
        if self.query == JOIN:
            return Feed(("a", "b"), self.rate, keys=self.rate * BAND, seconds=length)
        history = WINDOWS[self.query] if WINDOWS[self.query] > 1 else 0
        return Feed(("s",), self.rate, KEYS, length, history)


def sql(folder: Path, setting: Setting) -> str:
    streams = "".join(
        f"CREATE STREAM {stream} ({SCHEMA}) FROM parquet '{folder}/{stream}' TIMESTAMP BY ts "
        f"SLACK {TICK} MICROSECONDS;"
        for stream in setting.feed.streams
    )
    if setting.query == JOIN:
        return (
            f"{streams}CREATE QUERY q AS SELECT a.v AS a, b.v AS b FROM a JOIN b ON a.k = b.k AND "
            f"b.ts BETWEEN a.ts - INTERVAL {BAND} SECONDS AND a.ts + INTERVAL {BAND} SECONDS"
        )
    return (
        f"{streams}CREATE QUERY q AS SELECT k, sum(v) AS total, count(*) AS n "
        f"FROM s [RANGE {WINDOWS[setting.query]} SECONDS, SLIDE 1 SECOND] GROUP BY k"
    )


def plain(spark: SparkSession, folder: Path, setting: Setting) -> DataFrame:
    """The query as Spark's own streaming offers it."""
    marked = {
        stream: spark.readStream.schema(SCHEMA)
        .parquet(str(folder / stream))
        .withWatermark("ts", f"{TICK} microseconds")
        .alias(stream)
        for stream in setting.feed.streams
    }
    if setting.query == JOIN:
        band = F.expr(
            f"a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL {BAND} SECONDS "
            f"AND a.ts + INTERVAL {BAND} SECONDS"
        )
        joined: DataFrame = marked["a"].join(marked["b"], band)
        return joined.select(F.col("a.v").alias("a"), F.col("b.v").alias("b"))
    window = F.window("ts", f"{WINDOWS[setting.query]} seconds", "1 second")
    summed: DataFrame = (
        marked["s"]
        .groupBy("k", window.alias("w"))
        .agg(F.sum("v").alias("total"), F.count("*").alias("n"))
    )
    return summed.select("k", "total", "n", F.col("w.end").alias("window_end"))


def expected(setting: Setting, fed: Fed) -> pl.DataFrame:
    """Every result that the rows give, with the time at which it could be `known`."""
    found: pl.DataFrame
    if setting.query == JOIN:
        found = pairs(fed.rows["a"], fed.rows["b"], BAND * SECOND)
    else:
        found = windows(fed.rows["s"], WINDOWS[setting.query] * SECOND, SECOND, TICK)
    return found
