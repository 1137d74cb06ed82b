"""Sources that bring a line of text at a time, such as sockets and Kafka, as rows.

The option `lines` says how a line is written, `csv` or `json`; it is ours, all others are Spark's.
The line is the source's column `value`. CSV lines have the declared columns in their order, without
a header. Malformed rows are rejected as in files of the format.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.errors import MalformedRow
from penstock.model.streams import Stream
from penstock.spark.sources.text_files import (
    TEXT_FORMATS,
    conform_text,
    lowered,
    reading_options,
    text_columns,
)

LINES = "lines"

_ROW = "penstock_row"


def read_lines(frame: DataFrame, stream: Stream) -> DataFrame:
    """The stream's columns out of the lines in `value`."""
    said = lowered(stream)[LINES]
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
    rows = frame.select(parse(F.col("value").cast("string"), schema, options).alias(_ROW))
    # Held as one column: taken apart at once, Spark would parse a line for each of its columns.
    return conform_text(rows.select(f"{_ROW}.*"), stream, format_)
