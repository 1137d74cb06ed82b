"""Redis streams as a Spark streaming source; ids of entries are its offsets (`redis_entries`).

A batch is what lies between two ids. Spark logs them before it reads, so a batch that is repeated,
in this run or the next, has the same rows. One task reads a batch: a stream of Redis is one log.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from penstock.io.sources.redis_entries import EntryOffset, RedisEntries, block_of, parse_id
from penstock.model.schema import Column
from penstock.model.streams import Origin, Stream
from penstock.model.types import Type
from penstock.spark.sources.conforming import MALFORMED_COLUMN
from penstock.spark.sources.spool import spoolable

NAME = "penstock_redis"
#: Options that are ours, beside those of the stream.
_STREAM, _ADDRESS = "penstock_stream", "penstock_address"

#: What Spark takes strings and bytes as.
_SHORT = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}


def read_redis(spark: SparkSession, stream: Stream) -> DataFrame:
    """The stream with its declared columns, and malformed rows beside them."""
    RedisEntries(stream)  # complains here, if it must
    spark.dataSource.register(RedisSource)
    columns = ", ".join(f"{_quoted(c.name)} {c.type}" for c in stream.arriving)
    reader = spark.readStream.format(NAME).options(**dict(stream.origin.options))
    reader = reader.option(_STREAM, stream.name).option(_ADDRESS, str(stream.origin.path))
    return reader.schema(f"{columns}, {MALFORMED_COLUMN} STRING").load()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class RedisSource(DataSource):
    """Reads the stream that the options describe; Spark is told its columns."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        options = dict(self.options)
        name, address = options.pop(_STREAM), options.pop(_ADDRESS)
        columns = tuple(
            Column(field.name, Type(field.dataType.simpleString()))
            for field in schema.fields
            if field.name != MALFORMED_COLUMN
        )
        return RedisReader(
            Stream(name, columns, origin=Origin("redis", address, tuple(options.items())))
        )


class RedisReader(DataSourceStreamReader):
    """An offset is the id of the last entry that was read."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._entries = RedisEntries(stream)

    def initialOffset(self) -> dict[str, Any]:
        return self._entries.first.to_json()

    def latestOffset(
        self, start: dict[str, Any] | None = None, limit: Any = None
    ) -> dict[str, Any]:
        behind = EntryOffset.from_json(start or self.initialOffset())
        return self._entries.newest(behind).to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        self._entries.check_whole(EntryOffset.from_json(start))  # a batch that is repeated, too
        return [InputPartition((start["id"], end["id"]))] if start != end else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        behind, to = map(parse_id, partition.value)
        names = [*(column.name for column in self._stream.arriving), MALFORMED_COLUMN]
        for page in self._entries.pages(behind, to):
            block = block_of(self._stream, page)
            rows = spoolable(self._stream, [block.rows], block.rejected).select(names).to_arrow()
            short = [field.with_type(_SHORT.get(field.type, field.type)) for field in rows.schema]
            yield from rows.cast(pa.schema(short)).to_batches()
