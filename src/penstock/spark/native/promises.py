"""Promises in front of Spark's watermark.

Each stream is united with promises from outside before Spark derives its watermark, so a silent
stream can be spoken for, and the end of the input closes every window. A promise of bound b comes
as a row with the time b + slack, which Spark turns back into b.
"""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.model.timestamps import MILLISECOND, to_ticks

#: The last time that Spark can print: a promise to it closes everything.
LAST = to_ticks(datetime(9999, 12, 31))

#: Where a row is one.
PROMISE = "penstock_promise"


def promising(frame: DataFrame, promises: DataFrame, on: str, slack: int) -> DataFrame:
    """A stream with the promises made for it, and Spark's watermark on its time over both.

    `promises` has one column, `bound`, in ticks. Rows of the stream that are promises themselves
    are marked in a column of their own.
    """
    spoken = F.timestamp_micros(F.least(F.col("bound") + F.lit(slack), F.lit(LAST)))
    columns = [field for field in frame.schema if field.name != PROMISE]
    silent = [
        (spoken if c.name == on else F.lit(None).cast(c.dataType)).alias(c.name) for c in columns
    ]
    is_promise = F.col(PROMISE) if PROMISE in frame.columns else F.lit(False)
    # Promises come first: Spark looks for new ones before it looks for new rows.
    both = promises.select(*silent, F.lit(True).alias(PROMISE)).union(
        frame.select(*(f"`{c.name}`" for c in columns), is_promise.alias(PROMISE))
    )
    marked = both.withWatermark(on, f"{slack // MILLISECOND} milliseconds")
    # It looks at the time, or else Spark would filter before the watermark sees the promises.
    return marked.where(~(F.col(PROMISE) & F.col(f"`{on}`").isNotNull())).drop(PROMISE)
