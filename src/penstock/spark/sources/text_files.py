"""Directories of CSV and JSON: read as text, so that a bad value costs its row and nothing else.

Spark's own readers turn a value that does not conform into NULL, which nobody notices. Here every
column is read as text, a line that is not a row comes along whole (Spark's corrupt record), and
`conforming` gives the columns their types and rejects what does not conform. CSV columns are found
by the names in the header, as in this process, and every file is held to the same header.

Whoever chooses how Spark treats bad records (`mode`, `columnNameOfCorruptRecord`) gets just that.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from penstock.model.streams import Stream
from penstock.model.types import Type
from penstock.spark.sources.conforming import conform
from penstock.spark.sources.directories import place_of, read_files

TEXT_FORMATS = ("csv", "json")

#: The column in which a line that is not a row comes along.
NO_ROW = "penstock_no_row"

#: As CSV is written nearly everywhere, and read in this process. Spark would want a backslash
#: before quotes within quotes; would take "" for NULL, unless NULL is said to be something else;
#: and, with columns that nobody reads left out, would not see that a line has too few or too many.
_CSV = {
    "header": "true",
    "escape": '"',
    "enforceSchema": "false",
    "nullValue": "\u0001",
    "columnPruning": "false",
}
#: The option that names this column.
_CORRUPT = "columnNameOfCorruptRecord"


def sets_rows_aside(stream: Stream) -> bool:
    """Whether malformed rows of the stream are ours to treat."""
    return (
        bool(stream.arriving)
        and not {"mode", _CORRUPT.lower()} & stream.origin.lowercase_options.keys()
    )


def read_text_files(spark: SparkSession, stream: Stream) -> DataFrame:
    """The stream's columns, and what does not conform rejected."""
    origin = stream.origin
    options = reading_options(stream, origin.format)
    names = [column.name for column in stream.arriving]
    if (
        origin.format == "csv"
        and stream.origin.lowercase_options.get("header", "true").lower() == "true"
    ):
        names = _header(spark, place_of(str(origin.path)), options) or names
    rows = read_files(spark, stream, origin.format, text_columns(names), options)
    return conform_text(rows, stream, origin.format)


def text_columns(names: Iterable[str]) -> str:
    """The columns of a text format as Spark is to read them."""
    return ", ".join(f"`{name}` STRING" for name in (*names, NO_ROW))


def conform_text(rows: DataFrame, stream: Stream, format_: str) -> DataFrame:
    """Columns of text in the stream's types, and what does not conform rejected."""
    given = stream.origin.lowercase_options
    named = {Type.TIMESTAMP: "timestampformat", Type.DATE: "dateformat"}
    formats = {of: given[option] for of, option in named.items() if option in given}
    return conform(rows, stream, no_row=NO_ROW, formats=formats, numbers=format_ == "json")


def reading_options(stream: Stream, format_: str) -> dict[str, str]:
    """The stream's options, and ours where it has none."""
    given = stream.origin.lowercase_options
    ours = _CSV if format_ == "csv" else {}
    missing = {key: value for key, value in ours.items() if key.lower() not in given}
    return missing | dict(stream.origin.options) | {_CORRUPT: NO_ROW}


def _header(spark: SparkSession, path: str, options: dict[str, str]) -> list[str]:
    """The names in the first file's header; none if there is no file yet."""
    try:
        return spark.read.format("csv").options(**options).load(path).columns
    except AnalysisException as refused:
        if refused.getCondition() != "UNABLE_TO_INFER_SCHEMA":
            raise
        return []
