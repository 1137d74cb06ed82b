"""Columns that Spark computes of those of a stream, as it reads rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.model.computed_column import ComputedColumn
from penstock.model.streams import Stream
from penstock.model.types import Type
from penstock.spark.sources.conforming import MALFORMED_COLUMN
from penstock.spark.zoned_sessions import analysed_in


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
    frame = with_columns(frame, stream.computed, only_rows=MALFORMED_COLUMN in before)
    computed = [each.name for each in stream.computed]
    return frame.select(*(F.col(f"`{name}`") for name in (*before, *computed)))


def with_columns(
    frame: DataFrame, computed: Sequence[ComputedColumn], *, only_rows: bool = False
) -> DataFrame:
    """A frame with computed columns behind its own, each computed in its time zone.

    `only_rows`: it says of some rows that they are malformed.
    """
    for zone in dict.fromkeys(each.zone for each in computed):
        columns = []
        for each in (c for c in computed if c.zone == zone):
            value = F.expr(each.sql).cast(str(each.type))
            value = F.when(F.col(MALFORMED_COLUMN).isNull(), value) if only_rows else value
            columns.append(value.alias(each.name))
        frame = analysed_in(zone, frame, partial(_selected, columns=columns))
    return frame


def _selected(frame: DataFrame, columns: list[Column]) -> DataFrame:
    return frame.select("*", *columns)
