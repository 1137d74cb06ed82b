"""Streams as Spark streaming DataFrames, in the shape the exchange wants.

Any streaming format Spark knows is a source: its name and options reach Spark unchanged. Spark
reads, gives every column its declared type and turns times into ticks; only then do rows cross to
Python. Parquet, CSV and JSON files are read there, without that crossing (`direct_files`).
"""

from __future__ import annotations

from collections.abc import Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.errors import MalformedRow, NotExecutable
from penstock.io.iterables import FORMAT as ITERABLE
from penstock.io.kafka_address import FORMAT as KAFKA
from penstock.io.sources.redis_entries import FORMAT as REDIS
from penstock.io.unreadable import skips_unreadable
from penstock.model.schema import Column as Declared
from penstock.model.streams import Origin, Stream
from penstock.model.types import Type
from penstock.spark.exchange.exchange import Packer
from penstock.spark.exchange.messages import DDL
from penstock.spark.exchange.preaggregation import Preaggregation
from penstock.spark.placement.partitioning import PartitionKeys
from penstock.spark.sources.computed_columns import with_computed
from penstock.spark.sources.conforming import MALFORMED_COLUMN, conform
from penstock.spark.sources.direct_files import check_header, is_direct, new_files
from penstock.spark.sources.directories import check_files, read_files
from penstock.spark.sources.file_sizes import FILE_FORMATS
from penstock.spark.sources.kafka_source import check_topics, for_connector
from penstock.spark.sources.packages import no_format
from penstock.spark.sources.redis_source import read_redis
from penstock.spark.sources.text_files import (
    TEXT_FORMATS,
    lowered,
    read_text_files,
    sets_rows_aside,
)
from penstock.spark.sources.text_lines import LINES, read_lines
from penstock.spark.sources.workload_source import WorkloadSource, made_of
from penstock.spark.types import our_type


def open_stream(spark: SparkSession, stream: Stream) -> DataFrame:
    """The stream as the exchange takes it: its new files, or its rows as Spark reads them.

    Files are left to Spark where it is to compute columns of their rows.
    """
    if not is_direct(stream):
        _check_is_read_by_spark(stream)
        return with_computed(read_stream(spark, stream), stream)
    check_files(stream)
    check_header(stream)
    return new_files(spark, stream)


def _check_is_read_by_spark(stream: Stream) -> None:
    """Refuse what only the tasks themselves do with files."""
    if stream.origin.format in FILE_FORMATS and skips_unreadable(stream):
        raise NotExecutable(
            f"stream `{stream.name}`: files that Spark reads cannot be skipped where they are "
            "unreadable",
            hint="that is for parquet, csv and json on this machine, without options of Spark's "
            "about what is in them, without computed columns, and with a time of their own",
        )


def check_options(stream: Stream) -> None:
    """Refuse options of a source that no Spark is needed to judge."""
    for_connector(stream)
    if is_direct(stream):
        skips_unreadable(stream)


def read_stream(spark: SparkSession, stream: Stream) -> DataFrame:
    """The stream as Spark reads it, with its declared columns and types."""
    declared, stream = stream, for_connector(stream)
    origin = stream.origin
    if origin.format == "workload":
        return conform(_read_workload(spark, origin), stream)
    if origin.format == REDIS:
        return read_redis(spark, stream)
    if origin.format in FILE_FORMATS:
        check_files(stream)
    if origin.format in TEXT_FORMATS and sets_rows_aside(stream):
        return read_text_files(spark, stream)
    options = {key: value for key, value in origin.options if key.lower() != LINES}
    try:
        if origin.format in FILE_FORMATS:
            columns = ", ".join(f"`{column.name}` {column.type}" for column in stream.arriving)
            if origin.format == "csv" and "header" not in lowered(stream):
                options["header"] = "true"
            found = read_files(spark, stream, origin.format, columns, options)
        else:
            reader = spark.readStream.format(origin.format).options(**options)
            found = reader.load(origin.path)
    except (AnalysisException, Py4JJavaError) as cause:
        if "Failed to find" not in str(cause):
            raise
        raise no_format(stream) from cause
    if origin.format == KAFKA and declared.origin.path is not None:
        check_topics(spark, declared)
    return read_lines(found, stream) if LINES in lowered(stream) else conform(found, stream)


def is_finite(stream: Stream) -> bool:
    """Whether the stream comes to an end by itself."""
    if stream.origin.format == ITERABLE:
        return True  # once it is over, which `Spool` knows
    if stream.origin.format == "workload":
        return "rows" in lowered(stream)
    return stream.origin.format in FILE_FORMATS


def _read_workload(spark: SparkSession, origin: Origin) -> DataFrame:
    made_of({"workload": str(origin.path), **dict(origin.options)})  # complains here, if it must
    spark.dataSource.register(WorkloadSource)
    reader = spark.readStream.format(WorkloadSource.name()).options(**dict(origin.options))
    return reader.option("workload", str(origin.path)).load()


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
