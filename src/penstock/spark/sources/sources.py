"""Streams as Spark streaming DataFrames, in the shape the exchange wants.

What a format is, `io/sources/` says; here Spark reads logs of rows, files, and formats of its own.
It gives every column its declared type and turns times into ticks; only then do rows cross to
Python. Parquet, CSV and JSON files are read there, without that crossing (`direct_files`).
"""

from __future__ import annotations

from collections.abc import Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.errors import MalformedRow, NotExecutable
from penstock.io.sources.file_source import FileSource
from penstock.io.sources.registry import source_of
from penstock.io.sources.source_kind import LINES, SourceKind
from penstock.io.unreadable import skips_unreadable
from penstock.model.schema import Column as Declared
from penstock.model.streams import Stream
from penstock.model.types import Type
from penstock.spark.exchange.exchange import Packer
from penstock.spark.exchange.messages import DDL
from penstock.spark.exchange.preaggregation import Preaggregation
from penstock.spark.placement.partitioning import PartitionKeys
from penstock.spark.sources.computed_columns import with_computed
from penstock.spark.sources.conforming import MALFORMED_COLUMN, conform
from penstock.spark.sources.direct_files import check_header, is_direct, new_files
from penstock.spark.sources.directories import check_files, read_files
from penstock.spark.sources.packages import no_format
from penstock.spark.sources.row_logs import read_log
from penstock.spark.sources.text_files import (
    TEXT_FORMATS,
    read_text_files,
    sets_rows_aside,
)
from penstock.spark.sources.text_lines import read_lines
from penstock.spark.types import our_type


def open_stream(spark: SparkSession, stream: Stream) -> DataFrame:
    """The stream as the exchange takes it: its new files, or its rows as Spark reads them.

    Files are left to Spark where it is to compute columns of their rows.
    """
    if not is_direct(stream):
        return with_computed(read_stream(spark, stream), stream)
    check_files(stream)
    check_header(stream)
    return new_files(spark, stream)


def read_stream(spark: SparkSession, stream: Stream) -> DataFrame:
    """The stream as Spark reads it, with its declared columns and types."""
    kind = source_of(stream.origin)
    log = kind.row_log(stream)
    if log is not None:
        return read_log(spark, stream, log)
    if isinstance(kind, FileSource):
        return _read_directory(spark, stream)
    return _read_format(spark, stream, kind)


def _read_directory(spark: SparkSession, stream: Stream) -> DataFrame:
    """Files in a format of Spark's, read by Spark itself."""
    origin = stream.origin
    if skips_unreadable(stream):
        raise NotExecutable(
            f"stream `{stream.name}`: files that Spark reads cannot be skipped where they are "
            "unreadable",
            hint="that is for parquet, csv and json on this machine, without options of Spark's "
            "about what is in them, without computed columns, and with a time of their own",
        )
    check_files(stream)
    if origin.format in TEXT_FORMATS and sets_rows_aside(stream):
        return read_text_files(spark, stream)
    columns = ", ".join(f"`{column.name}` {column.type}" for column in stream.arriving)
    options = {key: value for key, value in origin.options if key.lower() != LINES}
    if origin.format == "csv" and "header" not in origin.lowercase_options:
        options["header"] = "true"
    return _rows_of(read_files(spark, stream, origin.format, columns, options), stream)


def _read_format(spark: SparkSession, declared: Stream, kind: SourceKind) -> DataFrame:
    """A streaming format of Spark's, or of a package."""
    stream = kind.spark_stream(declared)
    origin = stream.origin
    options = {key: value for key, value in origin.options if key.lower() != LINES}
    try:
        found = spark.readStream.format(origin.format).options(**options).load(origin.path)
    except (AnalysisException, Py4JJavaError) as cause:
        if "Failed to find" not in str(cause):
            raise
        raise no_format(declared) from cause
    if (probe := kind.probe_options(declared)) is not None:
        try:
            # Which takes Spark to ask for partitions and offsets, and reads nothing.
            reader = spark.read.format(origin.format).options(**probe)
            reader.load().rdd.getNumPartitions()
        except (PySparkException, Py4JJavaError) as cause:
            raise kind.explain_failure(declared, str(cause)) or cause from None
    return _rows_of(found, stream)


def _rows_of(frame: DataFrame, stream: Stream) -> DataFrame:
    """The declared columns of what Spark has read."""
    return (
        read_lines(frame, stream)
        if LINES in stream.origin.lowercase_options
        else conform(frame, stream)
    )


def columns_of(frame: DataFrame, name: str) -> tuple[Declared, ...]:
    """The columns of a DataFrame in our types."""
    columns = []
    for field in frame.schema:
        found = our_type(field.dataType)
        if found is None:
            raise MalformedRow(
                name,
                f"column `{field.name}` of `{name}` is {field.dataType.simpleString()}, which no "
                "query can use",
                hint=f"leave it out: frame.drop('{field.name}'), or cast it",
            )
        columns.append(Declared(field.name, found))
    return tuple(columns)


def exchange(
    frame: DataFrame,
    stream: Stream,
    number: int,
    keys: PartitionKeys,
    groups: Sequence[int],
    tasks: int,
    preaggregation: Preaggregation,
) -> DataFrame:
    """The stream as lines of the exchange; files we read ourselves are shared out to `tasks`."""
    if is_direct(stream):
        ready = frame.coalesce(tasks)
    else:
        ticks = [in_ticks(column) for column in stream.read_by_spark]
        ticks += [_batch_time().alias(on) for on in stream.stamped]
        aside = [F.col(MALFORMED_COLUMN)] if MALFORMED_COLUMN in frame.columns else []
        ready = frame.select(*ticks, *aside)
    return ready.mapInArrow(Packer(number, stream, keys, groups, preaggregation), DDL)


def _batch_time() -> Column:
    """The batch's own time, in ticks: Spark logs it, and replays it."""
    return F.unix_micros(F.current_timestamp())


def in_ticks(column: Declared) -> Column:
    """A column as it crosses to Python."""
    value = F.col(f"`{column.name}`")
    if column.type is Type.TIMESTAMP_NTZ:
        # What a clock shows, counted as if it stood in UTC, whatever the session's zone is.
        value = F.convert_timezone(F.lit("UTC"), F.current_timezone(), value).cast("timestamp")
    is_time = column.type.is_time
    return (F.unix_micros(value) if is_time else value).alias(column.name)
