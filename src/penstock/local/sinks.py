"""Where rows go in this process: what opens the sink that a query or a stream names."""

from __future__ import annotations

from typing import Protocol
from uuid import uuid4

import polars as pl

from penstock.errors import NotExecutable
from penstock.io.console import CONSOLE, ConsoleSink, check_console
from penstock.io.files import FileSink, check_unused
from penstock.io.results import SINK_FORMATS, check_format
from penstock.io.sinks.registry import SINKS
from penstock.io.sinks.sink_kind import SinkWriter, Target
from penstock.model.schema import Schema
from penstock.model.streams import Sink


class LocalSink(Protocol):
    """Takes rows as they come out."""

    def write(self, rows: pl.DataFrame) -> None: ...

    def close(self) -> None: ...


class NumberedBatches:
    """What comes out at once as the next batch, for a sink that takes batches."""

    def __init__(self, writer: SinkWriter) -> None:
        self._writer = writer
        self._batch = 0

    def write(self, rows: pl.DataFrame) -> None:
        self._writer.write(self._batch, rows)
        self._batch += 1

    def close(self) -> None:
        self._writer.close()


def check_sink(sink: Sink, schema: Schema) -> None:
    """Refuse a sink that cannot be written to from this process."""
    if sink.format in SINKS:
        SINKS[sink.format].check(sink, schema)
    elif sink.format == CONSOLE:
        check_console(sink)
    elif sink.format in SINK_FORMATS and sink.path is not None:
        check_format(sink.format, schema)
        check_unused(sink.path)
    else:
        raise NotExecutable(
            f"cannot write results into {sink}",
            hint=f"this host writes INTO console, a directory as {', '.join(SINK_FORMATS)}, or "
            f"{', '.join(SINKS)}; on Spark, into any format that Spark writes",
        )


def open_sink(name: str, whose: str, sink: Sink, schema: Schema) -> LocalSink:
    """What writes rows where they are declared to go; `whose` they are, errors say."""
    if sink.format in SINKS:
        # Without a checkpoint, every run is another application.
        target = Target(whose, sink, schema, f"{uuid4().hex}:{whose}")
        return NumberedBatches(SINKS[sink.format].open(target))
    if sink.format == CONSOLE:
        return ConsoleSink(name, sink)
    return FileSink(sink.format, str(sink.path))
