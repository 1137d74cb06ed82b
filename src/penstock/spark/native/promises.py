"""Punctuation in front of Spark's watermark.

Each stream is united with punctuation from outside before Spark derives its watermark, so a silent
stream can get a bound, and the end of the input closes every window. A bound b comes as a row
with the time b + slack, which Spark turns back into b.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.model.timestamps import END, MILLISECOND
from penstock.spark.native.times import LAST, SHIFT, TIME, watched

#: Where a row is one.
PROMISE = "penstock_promise"


def promising(frame: DataFrame, promises: DataFrame, on: str, slack: int) -> DataFrame:
    """A stream with the promises made for it, and TIME with Spark's watermark over both.

    `promises` has one column, `bound`, in ticks.
    """
    bound = F.col("bound")
    said = F.when(bound >= END, F.lit(LAST)).otherwise(bound + F.lit(slack + SHIFT))
    silent = [F.lit(None).cast(field.dataType).alias(field.name) for field in frame.schema]
    # Promises come first: Spark looks for new ones before it looks for new rows.
    both = promises.select(
        *silent, F.timestamp_micros(said).alias(TIME), F.lit(True).alias(PROMISE)
    ).union(
        frame.select(
            *(f"`{field.name}`" for field in frame.schema),
            watched(F.col(f"`{on}`")).alias(TIME),
            F.lit(False).alias(PROMISE),
        )
    )
    return watermarked(both, slack)


def watermarked(frame: DataFrame, slack: int) -> DataFrame:
    """Rows with Spark's watermark on TIME, without those that are promises."""
    marked = frame.withWatermark(TIME, f"{slack // MILLISECOND} milliseconds")
    # It looks at the time, or else Spark would filter before the watermark sees the promises.
    return marked.where(~(F.col(PROMISE) & F.col(TIME).isNotNull())).drop(PROMISE)
