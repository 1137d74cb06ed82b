"""BatchSink: where the rows of a micro-batch are written, once per batch.

Files are named after the batch, so a batch that Spark repeats replaces what it wrote before. On the
console it is shown. Anything else is handed to Spark's writer of that name, to append.
"""

from __future__ import annotations

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


class BatchSink:
    """One place that rows are declared to go INTO; `name` is whose rows they are."""

    def __init__(
        self, engine: Engine, name: str, sink: Sink, manifest: Manifest | None = None
    ) -> None:
        self._name = name
        self._engine = engine
        self._sink = sink
        self._manifest = manifest  # of the files that are written

    def write(self, batch: int, rows: pl.DataFrame) -> None:
        sink = self._sink
        if sink.format in SINK_FORMATS:
            file = write_part(Path(str(sink.path)), f"part-{batch:08d}", sink.format, rows)
            reach("sink.written")
            if self._manifest is not None:
                self._manifest.add(batch, file, rows.height)
            return
        if sink.format == CONSOLE:
            ConsoleSink(self._name, sink).write(rows, batch)
            return
        writer = self._engine.session.createDataFrame(rows.to_arrow()).write.format(sink.format)
        writer = writer.options(**dict(sink.options)).mode("append")
        writer.save(sink.path) if sink.path else writer.save()
