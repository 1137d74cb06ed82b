"""Sequences on Spark: RECENT against what Spark offers for it, and against our own join.

Readings of cases and of products, a million each, of 10,000 conveyors at random, up to 5 s out of
order. Each product is paired with the latest case of its conveyor at or before it, at most 2 s
earlier; results go to parquet files. A micro-batch takes 40 s of each stream. What counts is the
time from the end of a first small batch to the last result; answers are compared row by row.

    case             against
    recent           the fastest of Spark's ways, as the column `way` says:
                     join      its stream-stream join within 2 s, and an aggregate over it that
                               finds the latest partner of each product
                     function  applyInPandasWithState: a function that keeps the rows of each key
    recent-vs-join   OA-Join within the same 2 s on the same streams, which gives all pairs; the
                     ratio is its time divided by that of RECENT

Before anything counts, each side runs some seconds of the streams, Spark in all its ways. Times are
medians of three; where a run of Spark's takes over a minute it is the only one, as the column
`runs` says.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from _streams import (
    DEFAULT_STORE,
    ONCE_ABOVE,
    OURS_IO,
    RIVAL_IO,
    ROCKSDB,
    SECOND,
    START,
    arrivals,
    read_files,
    run_ours,
    run_rival,
    write_files,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from penstock.lab.benchmarking import Case, Timed
from penstock.spark.session import local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

DISORDER, FILE_SECONDS, FILES_PER_TRIGGER = 5, 10, 4
RATE, KEYS, WITHIN = 10_000, 10_000, 2

SCHEMA = "k BIGINT, id BIGINT, ts TIMESTAMP"
STORES = {"default": DEFAULT_STORE, "rocksdb": ROCKSDB}
#: How Spark can do it, each with the state stores that are tried with it.
WAYS = ("join/default", "join/rocksdb", "function/rocksdb")
#: Numbers as bytes: arrays in such a state fail in this version of Spark, and are slower.
_KEPT = "a BINARY, at BINARY, b BINARY, bt BINARY"


@dataclass(frozen=True)
class Setting:
    """How long the streams last, in seconds."""

    seconds: int

    @property
    def rows(self) -> int:
        return self.seconds * RATE


#: So long a part of the streams tells which of Spark's ways is the fastest.
TRIAL = Setting(10)


def cases(quick: bool) -> Iterator[Case]:
    spark, setting = local_session(), Setting(40 if quick else 100)
    for warm in (sequence_sql, join_sql):
        timed_ours(spark, Setting(20), warm)
    yield against_spark(spark, setting)
    yield Case(
        name="recent-vs-join",
        ours=partial(timed_ours, spark, setting, sequence_sql),
        rival=partial(timed_join, spark, setting),
        rival_name="OA-Join",
        repeats=3,
        warm_up=0,
        ours_io=OURS_IO["parquet"],
        rival_io=OURS_IO["parquet"],
        extra={"rows": 2 * setting.rows},
    )


def against_spark(spark: SparkSession, setting: Setting) -> Case:
    """Against the fastest of Spark's ways, which the first run finds on a part of the streams."""
    extra: dict[str, object] = {"rows": 2 * setting.rows}

    def rival() -> Timed:
        if "way" not in extra:
            tried = {way: timed_rival(spark, TRIAL, *way.split("/")).seconds for way in WAYS}
            extra["way"] = min(tried, key=tried.__getitem__)
            extra.update({f"{way}, {TRIAL.seconds} s": f"{tried[way]:.1f} s" for way in WAYS})
        return timed_rival(spark, setting, *str(extra["way"]).split("/"))

    return Case(
        name="recent",
        ours=partial(timed_ours, spark, setting, sequence_sql),
        rival=rival,
        rival_name="Spark's way",
        repeats=3,
        warm_up=0,
        once_above=ONCE_ABOVE,
        ours_io=OURS_IO["parquet"],
        rival_io=RIVAL_IO["parquet"],
        extra=extra,
    )


# -- runs ---------------------------------------------------------------------------------------


def timed_ours(spark: SparkSession, setting: Setting, sql: Callable[[Path], str]) -> Timed:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, setting)
        seconds = run_ours(spark, sql(folder), folder / "a", folder / "b")
        return Timed(answer(folder / "out"), seconds)


def timed_join(spark: SparkSession, setting: Setting) -> Timed:
    """All pairs, of which those with the latest partner are the sequences: to compare answers.

    The rows that close everything are among the pairs; as products they would still wait.
    """
    timed = timed_ours(spark, setting, join_sql)
    closing = START + (setting.seconds + 60) * SECOND
    latest = timed.answer.filter(pl.col("t") < closing).sort("t").group_by("b").last()
    return Timed(latest.select("a", "b", "t"), timed.seconds)


def timed_rival(spark: SparkSession, setting: Setting, way: str, store: str) -> Timed:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, setting)
        both = (folder / "a", folder / "b")
        made = partial({"join": joined, "function": by_function}[way], spark, folder)
        seconds = run_rival(spark, made, folder / "out", STORES[store], *both)
        return Timed(answer(folder / "out"), seconds)


def write(folder: Path, setting: Setting) -> None:
    for seed, side in enumerate(("a", "b")):
        rng = np.random.default_rng(seed)
        frame = pl.DataFrame(
            {
                "k": rng.integers(0, KEYS, setting.rows),
                "id": np.arange(setting.rows),
                "ts": arrivals(setting.rows, RATE, DISORDER, rng),
            }
        )
        write_files(folder / side, frame, setting.seconds // FILE_SECONDS)


def answer(folder: Path) -> pl.DataFrame:
    found = pl.concat(pl.read_parquet(file) for file in sorted(folder.glob("*.parquet")))
    return found.select("a", "b", pl.col("t").dt.epoch("us"))


# -- ours ---------------------------------------------------------------------------------------


def streams_sql(folder: Path) -> str:
    return "".join(
        f"CREATE STREAM {side} ({SCHEMA}) FROM parquet '{folder}/{side}' "
        f"OPTIONS (maxFilesPerTrigger '{FILES_PER_TRIGGER}') TIMESTAMP BY ts "
        f"SLACK {DISORDER} SECONDS;"
        for side in ("a", "b")
    )


def sequence_sql(folder: Path) -> str:
    return (
        f"{streams_sql(folder)}CREATE QUERY q INTO parquet '{folder}/out' AS "
        "SELECT a.id AS a, b.id AS b, a.ts AS t "
        f"FROM SEQ(a, b) MODE RECENT PARTITION BY k WITHIN {WITHIN} SECONDS"
    )


def join_sql(folder: Path) -> str:
    return (
        f"{streams_sql(folder)}CREATE QUERY q INTO parquet '{folder}/out' AS "
        "SELECT a.id AS a, b.id AS b, a.ts AS t FROM a JOIN b ON a.k = b.k "
        f"AND b.ts BETWEEN a.ts AND a.ts + INTERVAL {WITHIN} SECONDS"
    )


# -- Spark's ways -------------------------------------------------------------------------------


def sides(spark: SparkSession, folder: Path) -> list[DataFrame]:
    found = []
    for side in ("a", "b"):
        rows = read_files(spark, folder / side, SCHEMA, FILES_PER_TRIGGER)
        found.append(rows.withWatermark("ts", f"{DISORDER} seconds"))
    return found


def joined(spark: SparkSession, folder: Path) -> DataFrame:
    """All pairs, and of each product the one with the latest case."""
    left, right = (
        rows.select(*(F.col(c).alias(f"{side}_{c}") for c in ("k", "id", "ts")))
        for side, rows in zip(("a", "b"), sides(spark, folder), strict=True)
    )
    band = F.expr(f"INTERVAL {WITHIN} SECONDS")
    condition = (F.col("a_k") == F.col("b_k")) & F.col("b_ts").between(
        F.col("a_ts"), F.col("a_ts") + band
    )
    latest = F.max(F.struct("a_ts", "a_id")).alias("latest")
    # The window has the aggregate forget what is over; it is as short as batches allow.
    grouped = left.join(right, condition).groupBy(F.window("b_ts", "1 second"), "b_id").agg(latest)
    result: DataFrame = grouped.select(
        F.col("latest.a_id").alias("a"), F.col("b_id").alias("b"), F.col("latest.a_ts").alias("t")
    )
    return result


def by_function(spark: SparkSession, folder: Path) -> DataFrame:
    """A function that gets the new rows of a key, and keeps what it needs of the old ones."""
    left, right = sides(spark, folder)
    both = left.withColumn("last", F.lit(False)).union(right.withColumn("last", F.lit(True)))
    paired: DataFrame = both.groupBy("k").applyInPandasWithState(
        pairing(),
        "a BIGINT, b BIGINT, t TIMESTAMP",
        _KEPT,
        "append",
        GroupStateTimeout.EventTimeTimeout,
    )
    return paired


def pairing() -> Callable[..., Iterator[pd.DataFrame]]:
    """The function, which is sent to the workers as it stands."""

    def pair_of_key(
        key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        """Pair the products of a key that the watermark has passed, and keep the others."""
        kept = state.get if state.exists else [b""] * 4
        a, at, b, bt = (np.frombuffer(each, np.int64) for each in kept)
        if not state.hasTimedOut:
            for frame in frames:
                ids, times = frame["id"].to_numpy(), frame["ts"].to_numpy().astype("datetime64[us]")
                ticks, last = times.astype(np.int64), frame["last"].to_numpy()
                a, at = np.append(a, ids[~last]), np.append(at, ticks[~last])
                b, bt = np.append(b, ids[last]), np.append(bt, ticks[last])
        order = np.argsort(at)
        a, at = a[order], at[order]
        watermark = state.getCurrentWatermarkMs() * 1000
        over = bt < watermark
        place = np.searchsorted(at, bt[over], side="right") - 1
        found = place >= 0
        found[found] = at[place[found]] >= bt[over][found] - WITHIN * 1_000_000
        if found.any():
            times = at[place[found]].astype("datetime64[us]")
            yield pd.DataFrame({"a": a[place[found]], "b": b[over][found], "t": times})
        needed = at >= watermark - WITHIN * 1_000_000
        a, at, b, bt = a[needed], at[needed], b[~over], bt[~over]
        if not len(a) and not len(b):
            state.remove()
            return
        state.update((a.tobytes(), at.tobytes(), b.tobytes(), bt.tobytes()))
        latest = max(at.max(initial=0), bt.max(initial=0)) // 1000 + 1
        state.setTimeoutTimestamp(max(int(latest), state.getCurrentWatermarkMs() + 1))

    return pair_of_key
