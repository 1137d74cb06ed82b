"""What every format that streams are read from brings along: SourceKind, for every host.

This process takes blocks of rows (`blocks`). On Spark, tasks read a `RowLog` here if the format has
one (`row_log`); all other formats are Spark's own, and Spark reads them under the options of
`spark_stream`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from penstock.errors import HostError
from penstock.io.files import FileBlock
from penstock.model.schema import Column
from penstock.model.streams import Stream

#: The option that says how a line or message is written, `csv` or `json`; all others are Spark's.
LINES = "lines"


class RowLog(Protocol):
    """Rows in an order that never changes; between two offsets lie always the same rows.

    Offsets are JSON, and Spark logs them. A log is pickled on its way to tasks.
    """

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns of the rows; None: rows are still to be fitted to those of the stream."""

    def initial_offset(self) -> dict[str, Any]:
        """Where a new checkpoint begins."""

    def latest_offset(self, start: Mapping[str, Any]) -> dict[str, Any]:
        """Where the batch ends that begins at an offset."""

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> Sequence[Any]:
        """What lies between two offsets, for one task each."""

    def read(self, partition: Any) -> Iterator[FileBlock]:
        """The rows of a partition."""


class SourceKind:
    """One format."""

    #: Whether this process reads it.
    is_local = False
    #: Whether a path names files.
    has_files = False
    #: The package that Spark needs for it and does not bring along.
    package: str | None = None

    def check(self, stream: Stream) -> None:
        """Refuse what can be refused before Spark starts; nothing is connected to."""
        self.row_log(stream)
        self.spark_stream(stream)

    def is_finite(self, stream: Stream) -> bool:
        """Whether the stream comes to an end by itself."""
        return False

    def blocks(self, stream: Stream, rows: int) -> Iterator[FileBlock]:
        """All rows that are there now, so many at a time, where `is_local`."""
        raise NotImplementedError

    def row_log(self, stream: Stream) -> RowLog | None:
        """The log that tasks of Spark read; None: the format is one of Spark's own."""
        return None

    def spark_stream(self, stream: Stream) -> Stream:
        """The stream as Spark's format takes it."""
        return stream

    def probe_options(self, stream: Stream) -> Mapping[str, str] | None:
        """Options under which a read that is no stream fails if something is not there.

        Spark would find out when its query runs, and name nothing.
        """
        return None

    def explain_failure(self, stream: Stream, text: str) -> HostError | None:
        """What the text of a failed probe means; None: it is about something else."""
        return None
