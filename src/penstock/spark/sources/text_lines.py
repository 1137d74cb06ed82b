"""Sources that bring a line of text at a time, such as sockets and Kafka, as rows.

The option `lines` says how a line is written, `csv` or `json`; it is ours, all others are Spark's.
The line is the source's column `value`. CSV lines have the declared columns in their order, without
a header. Malformed rows are rejected as in files of the format; in JSON so is a line or message
that is empty.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.errors import MalformedRow
from penstock.io.sources.source_kind import LINES
from penstock.model.streams import Stream
from penstock.spark.sources.text_files import (
    NO_ROW,
    TEXT_FORMATS,
    conform_text,
    reading_options,
    text_columns,
)

#: What stands for the text of what has none: a message without a value, an empty line.
NO_VALUE, EMPTY = "(no value)", "(empty)"

_ROW, _VALUE = "penstock_row", "penstock_value"


def read_lines(frame: DataFrame, stream: Stream) -> DataFrame:
    """The stream's columns out of the lines in `value`."""
    said = stream.origin.lowercase_options[LINES]
    format_ = said.lower()
    if format_ not in TEXT_FORMATS or "value" not in frame.columns:
        raise MalformedRow(
            stream.name,
            f"stream `{stream.name}` cannot be read as lines of {said}: its source has "
            f"{', '.join(frame.columns)}",
            hint="lines are `csv` or `json`, in a column `value`",
        )
    schema = text_columns(column.name for column in stream.arriving)
    options = reading_options(stream, format_)
    parse = F.from_csv if format_ == "csv" else F.from_json
    line = F.col("value").cast("string")
    rows = frame.select(parse(line, schema, options).alias(_ROW), F.col("value").alias(_VALUE))
    # Held as one column: taken apart at once, Spark would parse a line for each of its columns.
    names = [*(column.name for column in stream.arriving), NO_ROW]
    given = [F.col(f"{_ROW}.`{name}`").alias(name) for name in names]
    if format_ == "json":
        # Of nothing, Spark makes a row of NULLs.
        empty = F.when(F.col(_VALUE).isNull(), NO_VALUE).when(F.col(_ROW).isNull(), EMPTY)
        given[-1] = F.coalesce(empty, given[-1]).alias(NO_ROW)
    return conform_text(rows.select(*given), stream, format_)
