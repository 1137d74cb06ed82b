"""BatchSink: where the rows of a micro-batch are written, once per batch.

Files are named after the batch, so a batch that Spark repeats replaces what it wrote before. On the
console it is shown. Anything else is handed to Spark's writer of that name, to append.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from penstock.io.console import CONSOLE, ConsoleSink
from penstock.io.results import SINK_FORMATS, write_part
from penstock.io.storage.manifest import Manifest
from penstock.spark.faults import reach
from penstock.sql.parse.statements import Sink

if TYPE_CHECKING:
    from penstock.spark.engine import Engine


@dataclass(frozen=True)
class Staged:
    """Results of a batch that a task has written, to a hidden file."""

    file: Path
    rows: int


class BatchSink:
    """One place that rows are declared to go INTO; `name` is whose rows they are."""

    def __init__(
        self, engine: Engine, name: str, sink: Sink, manifest: Manifest | None = None
    ) -> None:
        self._name = name
        self._engine = engine
        self._sink = sink
        self._manifest = manifest  # of the files that are written

    def write(self, batch: int, rows: pl.DataFrame, staged: Sequence[Staged] = ()) -> None:
        """Write the rows of a batch, and those that tasks have written already, as one file."""
        sink = self._sink
        if sink.format in SINK_FORMATS:
            files = [each.file for each in staged]
            file = write_part(Path(str(sink.path)), f"part-{batch:08d}", sink.format, rows, files)
            reach("sink.written")
            if self._manifest is not None:
                self._manifest.add(batch, file, rows.height + sum(each.rows for each in staged))
            return
        if sink.format == CONSOLE:
            ConsoleSink(self._name, sink).write(rows, batch)
            return
        writer = self._engine.session.createDataFrame(rows.to_arrow()).write.format(sink.format)
        writer = writer.options(**dict(sink.options)).mode("append")
        writer.save(sink.path) if sink.path else writer.save()
