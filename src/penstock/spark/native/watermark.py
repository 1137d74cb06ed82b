"""Punctuation in front of Spark's watermark.

Each stream is united with punctuation from outside before Spark derives its watermark, so a silent
stream can get a bound, and the end of the input closes every window. A bound b comes as a row
with the time b + slack, which Spark turns back into b.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.model.streams import Stream
from penstock.model.timestamps import END, MILLISECOND
from penstock.spark.native.times import LAST, SHIFT, TIME, watched

#: Whether a row is punctuation.
PUNCTUATION = "penstock_punctuation"


def punctuated(frame: DataFrame, bounds: DataFrame, stream: Stream) -> DataFrame:
    """A stream with the bounds sent for it, and TIME with Spark's watermark over both.

    `bounds` has one column, `bound`, in ticks.
    """
    assert stream.slack is not None
    bound = F.col("bound")
    said = F.when(bound >= END, F.lit(LAST)).otherwise(bound + F.lit(stream.slack + SHIFT))
    spoken = bounds.select(F.timestamp_micros(said).alias(TIME), F.lit(True).alias(PUNCTUATION))
    time = watched(F.col(f"`{stream.timestamp}`"))
    rows = frame.withColumns({TIME: time, PUNCTUATION: F.lit(False)})
    # Punctuation comes first: Spark looks for it before it looks for new rows.
    return watermarked(spoken.unionByName(rows, allowMissingColumns=True), stream.slack)


def watermarked(frame: DataFrame, slack: int) -> DataFrame:
    """Rows with Spark's watermark on TIME, without those that are punctuation."""
    marked = frame.withWatermark(TIME, f"{slack // MILLISECOND} milliseconds")
    # It looks at the time, or else Spark would filter before the watermark sees punctuation.
    return marked.where(~(F.col(PUNCTUATION) & F.col(TIME).isNotNull())).drop(PUNCTUATION)
