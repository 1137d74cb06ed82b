"""What every format that takes batches brings along: SinkKind, and SinkWriter for an open one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import polars as pl

from penstock.errors import HostError, PenstockError
from penstock.io.address import plain_cause
from penstock.model.schema import Schema
from penstock.model.streams import Place, Sink


@dataclass(frozen=True)
class Target:
    """What is to be written where.

    `whose` names the rows in errors; `application` names the writer in the sink, the same after
    every restart from one checkpoint.
    """

    whose: str
    sink: Sink
    schema: Schema
    application: str


class SinkWriter(Protocol):
    """A sink that is open, for one query's results or one stream's late rows."""

    def write(self, batch: int, rows: pl.DataFrame) -> None:
        """Write a batch, unless it is there already: whole or not at all."""

    def close(self) -> None:
        """Nothing more is written."""


class SinkKind(ABC):
    """One format."""

    @abstractmethod
    def check(self, sink: Sink, schema: Schema) -> None:
        """Refuse what can be refused when a query is declared; nothing is connected to."""

    @abstractmethod
    def place(self, sink: Place) -> str:
        """Where the rows go, in full, as it may be shown; of two sinks or a source, compared."""

    def folder(self, sink: Place) -> Path | None:
        """The directory of this machine in which the rows lie; None: they lie elsewhere."""
        return None

    @abstractmethod
    def open(self, target: Target) -> SinkWriter:
        """Connect, make what is missing, and refuse what does not fit."""


@contextmanager
def writing(target: Target, place: str) -> Iterator[None]:
    """Whatever a package raises inside becomes an error that names the rows, the sink and it."""
    try:
        yield
    except PenstockError:
        raise
    except Exception as cause:  # what it raises is each package's own choice
        said, is_plain = plain_cause(cause, target.sink)
        raise HostError(
            f"{target.whose}: cannot write into {target.sink.format} `{place}`: {said}",
            hint="with a checkpoint, a restart repeats the batch, which is then written once",
        ) from (cause if is_plain else None)
