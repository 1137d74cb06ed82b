"""Columns that Spark computes of those of a stream, as it reads rows."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.model.streams import Stream
from penstock.model.types import Type
from penstock.spark.sources.conforming import MALFORMED_COLUMN


def with_computed(frame: DataFrame, stream: Stream) -> DataFrame:
    """The stream's rows with its computed columns; of malformed rows nothing is computed."""
    if not stream.computed:
        return frame
    before = frame.columns
    for on in stream.stamped:
        # As the exchange stamps rows: by the batch's own time, which Spark logs and replays.
        now = F.current_timestamp()
        is_time = stream.schema[on].type is Type.TIMESTAMP
        frame = frame.withColumn(on, now if is_time else F.unix_micros(now))
    is_row = F.col(MALFORMED_COLUMN).isNull() if MALFORMED_COLUMN in before else F.lit(True)
    columns = []
    for each in stream.computed:
        value = F.expr(each.sql).cast(str(each.type))
        value = F.when(is_row, value) if MALFORMED_COLUMN in before else value
        columns.append(value.alias(each.name))
    return frame.select(*(F.col(f"`{name}`") for name in before), *columns)
