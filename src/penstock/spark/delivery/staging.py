"""Staging: results that tasks write themselves, hidden, where the driver will publish them.

    a directory       the task writes the file
    a store           the task makes the content, and Java in its executor writes the file

The files of a batch become one, which a reader sees whole or not at all: the driver joins them on a
local Spark, and a task does elsewhere, so that results never pass through the driver.

Stores are reached through Hadoop's file systems, with the session's configuration and credentials,
which Python workers do not have. So the content travels to Java in the task's own output, in front
of what is told of it, and `penstock.StagedFiles` leaves only that for the driver to read.

A task may run anywhere, and what looks like the directory of results may be another one there, or
none. So it writes only where it finds the owner's mark (`io/storage/output_folder.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl
from pyspark.sql import DataFrame, SparkSession

from penstock.io.results import head_of, presented, stage_part, staged_content, staged_name
from penstock.io.storage.sealed import written
from penstock.io.storage.storage_path import StoragePath, is_of_this_machine, storage_path
from penstock.kernel.state import from_ipc, to_ipc
from penstock.model.schema import Schema
from penstock.spark import java_classes
from penstock.spark.failures import translated

#: How content begins that Java is to write; `penstock.StagedFiles` knows it too.
_MARK = b"penstock file\n\0\0"

#: A task sink as JSON has it: the fields of `TaskSink` in their order.
Told: TypeAlias = Sequence[str]


@dataclass(frozen=True)
class TaskSink:
    """Where tasks may write the results of a query."""

    format: str
    folder: str
    mark: str = ""  # a file that says that the directory is the right one; empty: it is

    def as_told(self) -> Told:
        return [self.format, self.folder, self.mark]


@dataclass(frozen=True)
class Staged:
    """Results of a batch that a task has written, to a hidden file."""

    file: StoragePath
    rows: int


def stage(query: str, results: pl.DataFrame, schema: Schema, told: Told) -> bytes | None:
    """Write results to a hidden file of a sink, or have them written; gives what is told of it.

    None: the directory is not here, so somebody else must write them.
    """
    sink = TaskSink(*told)
    rows = presented(results, schema)
    if is_of_this_machine(sink.folder):
        folder = Path(sink.folder)
        if sink.mark and not (folder / sink.mark).exists():
            return None
        return _told(query, str(stage_part(folder, sink.format, rows)), rows)
    file = str(storage_path(sink.folder) / staged_name(sink.format))
    content = staged_content(sink.format, rows)
    return b"".join([_MARK, *map(_sized, (file.encode(), _told(query, file, rows))), content])


def _told(query: str, file: str, rows: pl.DataFrame) -> bytes:
    return to_ipc(pl.DataFrame({"query": [query], "file": [file], "rows": [rows.height]}))


def _sized(part: bytes) -> bytes:
    return len(part).to_bytes(4, "big") + part


def told_of(payload: bytes) -> pl.DataFrame:
    """What is told of a file: whose results it has, where it is, and how many they are."""
    if payload.startswith(_MARK):
        at = len(_MARK)
        for _ in range(2):  # the file's place, then what is told
            size = int.from_bytes(payload[at : at + 4], "big")
            part, at = payload[at + 4 : at + 4 + size], at + 4 + size
        payload = part
    return from_ipc(payload)


def join_staged(
    spark: SparkSession,
    staged: Sequence[StoragePath],
    rows: pl.DataFrame,
    format: str,
    into: StoragePath,
) -> None:
    """Have a task join staged files to one, with further rows behind them."""
    last = into.with_name(staged_name(format)) if rows.height else None
    if last is not None:
        with written(last) as local:
            local.write_bytes(staged_content(format, rows))
    parts = [uri_of(part) for part in (*staged, *filter(None, [last]))]
    context: Any = spark.sparkContext
    try:
        with java_classes.using(spark) as ours, translated():
            ours.JoinedFiles.join(
                context._jsc,
                parts,
                uri_of(into),
                format == "parquet",
                head_of(format, rows),
                _hadoop(spark),
            )
    finally:
        if last is not None:
            last.unlink(missing_ok=True)


def uri_of(place: StoragePath) -> str:
    """A place as Hadoop knows it, whatever file system is its default: nothing is escaped.

    >>> uri_of(Path("/a b"))
    'file:///a b'
    """
    return f"file://{place.resolve()}" if isinstance(place, Path) else str(place)


def _hadoop(spark: SparkSession) -> Any:
    """How stores are reached."""
    return spark._jsparkSession.sessionState().newHadoopConf()


def writing_staged(spark: SparkSession, output: DataFrame) -> DataFrame:
    """A pipeline's output; on its way, Java writes the files that its `payload` has."""
    payload = output.columns.index("payload")
    with java_classes.using(spark) as ours:
        writes = ours.StagedFiles.writing(output._jdf, payload, _hadoop(spark))
    return DataFrame(writes, spark)
