"""BatchSink: where the rows of a micro-batch are written, under the number of the batch.

files           are named after the batch: one that Spark repeats replaces what it wrote
io/sinks/       formats that note the batch in the same transaction, and skip it if it is there
console         a batch that is repeated is shown again
other formats   go to Spark's writer of that name, to append: a batch that is repeated is
                written again, unless the writer makes use of `txnAppId` and `txnVersion`
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import polars as pl
from pyspark.sql import SparkSession

from penstock.io.console import CONSOLE, ConsoleSink
from penstock.io.results import SINK_FORMATS, write_part
from penstock.io.sinks.registry import SINKS
from penstock.io.sinks.sink_kind import SinkWriter, Target
from penstock.io.storage.manifest import Manifest
from penstock.spark.faults import reach
from penstock.sql.parse.statements import Sink

#: Writers of Spark's to which options that they do not know are anything but meaningless.
_TAKE_NO_OTHERS = ("jdbc",)  # hands them to the database's driver


@dataclass(frozen=True)
class Staged:
    """Results of a batch that a task has written, to a hidden file."""

    file: Path
    rows: int


class BatchSink(Protocol):
    """One place that rows are declared to go INTO."""

    def write(self, batch: int, rows: pl.DataFrame, staged: Sequence[Staged] = ()) -> None:
        """Write the rows of a batch, and those that tasks have written already."""

    def close(self) -> None:
        """Nothing more is written."""


def batch_sink(
    spark: SparkSession, name: str, target: Target, manifest: Manifest | None = None
) -> BatchSink:
    """What writes to a target; `name` is what the console calls it, `manifest` lists its files."""
    sink = target.sink
    if sink.format in SINKS:
        return TransactionSink(SINKS[sink.format].open(target))
    if sink.format in SINK_FORMATS:
        return FilesSink(sink, manifest)
    if sink.format == CONSOLE:
        return ShownBatches(name, sink)
    return SparkWriterSink(spark, target)


@dataclass(frozen=True)
class FilesSink:
    """A directory of parquet, csv or json: a file per batch."""

    sink: Sink
    manifest: Manifest | None

    def write(self, batch: int, rows: pl.DataFrame, staged: Sequence[Staged] = ()) -> None:
        folder, format_ = Path(str(self.sink.path)), self.sink.format
        files = [each.file for each in staged]
        file = write_part(folder, f"part-{batch:08d}", format_, rows, files)
        reach("sink.written")
        if self.manifest is not None:
            self.manifest.add(batch, file, rows.height + sum(each.rows for each in staged))

    def close(self) -> None:
        """Others see to the directory (`outputs`)."""


@dataclass(frozen=True)
class TransactionSink:
    """A format of `io/sinks/`."""

    writer: SinkWriter

    def write(self, batch: int, rows: pl.DataFrame, staged: Sequence[Staged] = ()) -> None:
        self.writer.write(batch, rows)
        reach("sink.written")

    def close(self) -> None:
        self.writer.close()


@dataclass(frozen=True)
class ShownBatches:
    """The console."""

    name: str
    sink: Sink

    def write(self, batch: int, rows: pl.DataFrame, staged: Sequence[Staged] = ()) -> None:
        ConsoleSink(self.name, self.sink).write(rows, batch)

    def close(self) -> None:
        """Nothing to do."""


@dataclass(frozen=True)
class SparkWriterSink:
    """Any other format: Spark's writer of that name."""

    spark: SparkSession
    target: Target

    def write(self, batch: int, rows: pl.DataFrame, staged: Sequence[Staged] = ()) -> None:
        sink = self.target.sink
        writer = self.spark.createDataFrame(rows.to_arrow()).write.format(sink.format)
        if sink.format not in _TAKE_NO_OTHERS:
            writer = writer.options(txnAppId=self.target.application, txnVersion=batch)
        writer = writer.options(**dict(sink.options)).mode("append")
        writer.save(sink.path) if sink.path else writer.save()

    def close(self) -> None:
        """Nothing to do."""
