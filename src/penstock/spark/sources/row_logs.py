"""Logs of rows as Spark streaming sources (`io/sources/source_kind.py`).

A batch is what lies between two offsets. Spark logs them before it reads, so a batch that is
repeated, in this run or the next, has the same rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from penstock.errors import PenstockBug
from penstock.io.files import FileBlock
from penstock.io.sources.registry import source_of
from penstock.io.sources.source_kind import RowLog
from penstock.model.streams import Stream
from penstock.model.types import Type
from penstock.optimizer.codec import decode, encode
from penstock.spark.sources.conforming import MALFORMED_COLUMN, conform
from penstock.spark.sources.spool import spoolable

NAME = "penstock_log"
#: The option that holds the stream; Spark shows no option whose name says that it is secret.
_STREAM = "penstock_secret_stream"

#: What Spark takes strings and bytes as.
_SHORT = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}


def read_log(spark: SparkSession, stream: Stream, log: RowLog) -> DataFrame:
    """The stream with its declared columns, and malformed rows beside them."""
    spark.dataSource.register(LogSource)
    reader = spark.readStream.format(NAME).option(_STREAM, json.dumps(encode(stream)))
    columns = [
        "`" + c.name.replace("`", "``") + f"` {c.type}" for c in log.columns or stream.arriving
    ]
    if log.columns is not None:
        return conform(reader.schema(", ".join(columns)).load(), stream)
    return reader.schema(", ".join([*columns, f"{MALFORMED_COLUMN} STRING"])).load()


class LogSource(DataSource):
    """Reads the log of the stream that the options hold; Spark is told its columns."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return LogReader(decode(json.loads(self.options[_STREAM])))


class LogReader(DataSourceStreamReader):
    """Offsets of the log are Spark's."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        log = source_of(stream.origin).row_log(stream)
        if log is None:
            raise PenstockBug(f"{stream.origin.format} has no log of rows")
        self._log = log

    def initialOffset(self) -> dict[str, Any]:
        return self._log.initial_offset()

    def latestOffset(
        self, start: dict[str, Any] | None = None, limit: Any = None
    ) -> dict[str, Any]:
        return self._log.latest_offset(start or self.initialOffset())

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        return [InputPartition(part) for part in self._log.partitions(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for block in self._log.read(partition.value):
            rows = self._fitted(block).to_arrow()
            short = [field.with_type(_SHORT.get(field.type, field.type)) for field in rows.schema]
            yield from rows.cast(pa.schema(short)).to_batches()

    def _fitted(self, block: FileBlock) -> pl.DataFrame:
        """The rows in types that Spark takes."""
        if self._log.columns is None:
            names = [*(column.name for column in self._stream.arriving), MALFORMED_COLUMN]
            return spoolable(self._stream, [block.rows], block.rejected).select(names)
        times = [c.name for c in self._log.columns if c.type is Type.TIMESTAMP]
        assert isinstance(block.rows, pl.DataFrame)
        return block.rows.with_columns(pl.col(times).cast(pl.Datetime("us", "UTC")))
