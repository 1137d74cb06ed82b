"""The fixed cost of a micro-batch: our pipeline against Spark's own streaming aggregation.

Ten rows a batch, counted and summed by key in tumbling windows of ten seconds, batch after batch as
fast as they go; what counts is the median duration of a batch once the first ones have warmed up.
Spark's aggregation runs once with its default state store and checkpoint files, and once with the
settings that ours uses. Both have one source partition and as many state partitions as there are
cores: with Spark's default of 200 it would take many times as long. Ours hands rows to Python, and
results back.

Times are medians of three runs, after one of each side that does not count; in every run the first
eight batches do not count. All windows are compared up to the last one that both have closed.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from functools import partial

import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from penstock.lab.benchmarking import Case, Timed, difference
from penstock.spark.engine import Engine
from penstock.spark.session import LOCAL_TUNING, TUNING, changed, local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

ROWS, KEYS, WINDOW = 10, 5, "10 seconds"
WARM_UP = 8
OURS_IO = "rate-micro-batch by Spark, rows handed to Python → collected into memory"

STREAM = """
CREATE STREAM ticks (timestamp TIMESTAMP, value BIGINT)
  FROM `rate-micro-batch` OPTIONS (rowsPerBatch '10', numPartitions '1')
  TIMESTAMP BY timestamp SLACK 1 SECOND;
CREATE QUERY floor AS
  SELECT value % 5 AS k, count(*) AS n, sum(value) AS total
  FROM ticks [RANGE 10 SECONDS] GROUP BY value % 5
"""


def cases(quick: bool) -> Iterator[Case]:
    batches = 20 if quick else 40
    spark = local_session()
    for name, tuned in (("empty-batch", False), ("empty-batch-tuned", True)):
        yield Case(
            name=name,
            ours=partial(ours, spark, batches),
            rival=partial(rival, spark, batches, tuned),
            rival_name="Spark's aggregation, " + ("our settings" if tuned else "its defaults"),
            repeats=3,
            warm_up=1,
            difference=difference_so_far,
            ours_io=OURS_IO,
            rival_io="rate-micro-batch by Spark → Spark's memory sink",
            extra={"batches": batches},
        )


def ours(spark: SparkSession, batches: int) -> Timed:
    engine = Engine(spark)
    engine.sql(STREAM)
    engine.start()
    query = engine.spark_query("floor")
    assert query is not None
    seconds = median_batch(query, batches)
    engine.stop()
    return Timed(engine.query("floor").results(), seconds)


def rival(spark: SparkSession, batches: int, tuned: bool) -> Timed:
    defaults = {
        key: "" for key in (*TUNING, *LOCAL_TUNING) if key.startswith("spark.sql.streaming.")
    }
    checkpoint = tempfile.mkdtemp()
    try:
        with changed(spark, {} if tuned else defaults):
            query = (
                aggregated(spark)
                .writeStream.format("memory")
                .queryName("floor_rival")
                .outputMode("append")
                .option("checkpointLocation", checkpoint)
                .start()
            )
            seconds = median_batch(query, batches)
            query.stop()
            answer = pl.from_arrow(spark.table("floor_rival").toArrow())
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)
    return Timed(answer, seconds)


def aggregated(spark: SparkSession) -> DataFrame:
    ticks = (
        spark.readStream.format("rate-micro-batch")
        .options(rowsPerBatch=ROWS, numPartitions=1)
        .load()
    )
    return (
        ticks.withWatermark("timestamp", "1 second")
        .groupBy((F.col("value") % KEYS).alias("k"), F.window("timestamp", WINDOW).alias("w"))
        .agg(F.count("*").alias("n"), F.sum("value").alias("total"))
        .select(
            "k",
            "n",
            "total",
            F.col("w.start").cast("timestamp_ntz").alias("window_start"),
            F.col("w.end").cast("timestamp_ntz").alias("window_end"),
        )
    )


def median_batch(query: StreamingQuery, batches: int) -> float:
    """Seconds a batch takes, in the middle, once it is warm."""
    while (latest := query.lastProgress) is None or latest["batchId"] < WARM_UP + batches:
        if query.exception() is not None:
            raise RuntimeError(str(query.exception()))
        time.sleep(0.1)
    warm = [p["batchDuration"] for p in query.recentProgress if p["batchId"] >= WARM_UP]
    return float(statistics.median(warm)) / 1000


def difference_so_far(ours: pl.DataFrame, rival: pl.DataFrame) -> str | None:
    """Both stop when they are told to, so windows are compared up to the last that both closed."""
    if not ours.height or not rival.height:
        return "no window was closed by both"
    last = pl.concat([ours.select(pl.max("window_end")), rival.select(pl.max("window_end"))])
    closed = pl.col("window_end") <= last["window_end"].min()
    return difference(ours.filter(closed), rival.filter(closed))
