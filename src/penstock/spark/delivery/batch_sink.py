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
from functools import cached_property
from pathlib import Path
from typing import Protocol

import polars as pl
from pyspark.sql import SparkSession

from penstock.io.console import CONSOLE, ConsoleSink
from penstock.io.results import write_part
from penstock.io.sinks.registry import SINKS
from penstock.io.sinks.sink_kind import SinkWriter, Target
from penstock.io.storage.hadoop_path import HadoopPath
from penstock.io.storage.manifest import Manifest
from penstock.io.storage.output_folder import OutputFolder
from penstock.model.streams import Sink
from penstock.spark.delivery.outputs import Held
from penstock.spark.delivery.staging import Staged, TaskSink, join_staged
from penstock.spark.faults import reach
from penstock.spark.session import is_one_process

#: Writers of Spark's to which options that they do not know are anything but meaningless.
_TAKE_NO_OTHERS = ("jdbc",)  # hands them to the database's driver


class BatchSink(Protocol):
    """One place that rows are declared to go INTO."""

    def write(self, batch: int, rows: pl.DataFrame, staged: Sequence[Staged] = ()) -> None:
        """Write the rows of a batch, and those that tasks have written already."""

    def close(self) -> None:
        """Nothing more is written."""


def batch_sink(
    spark: SparkSession, name: str, target: Target, held: Held | None = None
) -> BatchSink:
    """What writes to a target; `name` is what the console calls it, `held` its directory."""
    sink = target.sink
    if sink.format in SINKS:
        return TransactionSink(SINKS[sink.format].open(target))
    if held is not None and held.folder is not None:
        return FilesSink(spark, sink, held.folder, held.manifest)
    if sink.format == CONSOLE:
        return ShownBatches(name, sink)
    return SparkWriterSink(spark, target)


@dataclass(frozen=True)
class FilesSink:
    """A directory of parquet, csv or json: a file per batch.

    Files that tasks have staged are joined to it: by this process, if they lie on this machine and
    all tasks do too, else by a task.
    """

    spark: SparkSession
    sink: Sink
    folder: OutputFolder
    manifest: Manifest | None

    @property
    def is_store(self) -> bool:
        return isinstance(self.folder.path, HadoopPath)

    @cached_property
    def is_near(self) -> bool:
        """Whether this process sees all that tasks write, and writes files itself."""
        return not self.is_store and is_one_process(self.spark.sparkContext.master)

    def for_tasks(self) -> TaskSink:
        """Where tasks may write results."""
        mark = "" if self.is_near else self.folder.mark
        return TaskSink(self.sink.format, self._resolved, mark)

    @cached_property
    def _resolved(self) -> str:
        return str(self.folder.path.resolve())  # which asks the file system

    def write(self, batch: int, rows: pl.DataFrame, staged: Sequence[Staged] = ()) -> None:
        self.folder.check()
        folder, format_, name = self.folder.path, self.sink.format, f"part-{batch:08d}"
        is_near = self.is_near or not staged
        if is_near:
            parts = [Path(str(each.file)) for each in staged]
            if not (self.is_near or self.is_store):
                # Of a file that a task had joined, before the batch was repeated.
                (folder / f".{name}.{format_}.crc").unlink(missing_ok=True)
            file = write_part(folder, name, format_, rows, parts)
        else:
            file = folder / f"{name}.{format_}"
            join_staged(self.spark, [each.file for each in staged], rows, format_, file)
        reach("sink.written")
        if self.manifest is not None:
            count = rows.height + sum(each.rows for each in staged)
            self.manifest.add(batch, file, count, is_near=is_near)

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
