"""Housekeeping: files that a running pipeline has read, and that no batch can ask for again.

    control messages      deleted, but for the latest
    spooled rows          deleted by their spool, when all pipelines that read it have read them
    Spark's lists of      shortened by what is deleted, and by what the streams' `maxFileAge` has
    files                 Spark forget; so is what Spark remembers of deleted files while it runs

It is done now and then, when Spark hands a batch over: all batches before that one are committed,
and Spark looks at none of this meanwhile. If it cannot be done nothing is lost but space, so a
failure is said and not more.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import HostError
from penstock.io.sources.registry import names_files
from penstock.io.storage.storage_path import StoragePath, storage_path
from penstock.model.streams import Stream
from penstock.spark.control.control_stream import ControlStream
from penstock.spark.jvm import forget_files
from penstock.spark.state.source_logs import Line, SourceLog, milliseconds, place_of, source_logs

_LOG = logging.getLogger("penstock")

#: Batches from one time to the next.
EVERY = 100


@dataclass(frozen=True)
class OwnFolder:
    """A folder of ours that Spark reads, and who is told which of its files were read."""

    folder: StoragePath
    forget: Callable[[Collection[str]], None]

    @property
    def place(self) -> str:
        """As Spark's lists have it."""
        return str(self.folder.resolve())


class Housekeeping:
    """That of one pipeline; `spools` are the folders of its streams that are spooled."""

    def __init__(
        self,
        spark: StoragePath,
        control: ControlStream,
        spools: Mapping[str, StoragePath],
        streams: Iterable[Stream],
    ) -> None:
        #: By stream, files of its spool that belong to batches which are over.
        self.read: dict[str, Collection[str]] = {}
        self._spark = spark
        self._own = [OwnFolder(control.folder, control.forget_read)]
        for stream, folder in spools.items():
            self._own.append(OwnFolder(folder, partial(self._note, stream)))
        self._ages = ages(streams)
        self._has_failed = False

    def before(self, batch: int, spark: SparkSession, query: StreamingQuery) -> None:
        """See to what the batches before this one have left, if it is time for that."""
        if batch == 0 or batch % EVERY:
            return
        try:
            self.clean_up(batch - 1)
            forget_files(spark, query, self._there())
        except (OSError, ValueError, HostError) as cause:
            if not self._has_failed:
                self._has_failed = True
                _LOG.warning(
                    "files that are not needed any more cannot be deleted: %s. Nothing is lost, "
                    "and it is tried again.",
                    cause,
                )

    def clean_up(self, over: int) -> None:
        """Delete what batches have read up to one that is over."""
        for log in source_logs(self._spark, over):
            for own in self._own:
                if names := log.names(own.place):
                    own.forget(names)
            log.shorten(self._is_needed_in(log))

    def _is_needed_in(self, log: SourceLog) -> Callable[[Line], bool]:
        there = self._there()
        newest: dict[str, int] = {}
        for line in log.lines:
            folder, _ = place_of(line)
            newest[folder] = max(newest.get(folder, 0), line["timestamp"])

        def is_needed(line: Line) -> bool:
            folder, name = place_of(line)
            if folder in there:
                return name in there[folder]
            age = self._ages.get(folder)
            return age is None or bool(line["timestamp"] >= newest[folder] - age)

        return is_needed

    def _there(self) -> dict[str, set[str]]:
        """By folder of our own, the files that are there, or may be again.

        One that is hidden to be deleted gets its name again where that is cut off.
        """
        return {
            own.place: {file.name.removeprefix(".") for file in own.folder.iterdir()}
            for own in self._own
        }

    def _note(self, stream: str, names: Collection[str]) -> None:
        self.read[stream] = names


def ages(streams: Iterable[Stream]) -> dict[str, float]:
    """By folder, after how many milliseconds Spark forgets the files of a stream, if ever."""
    found = {}
    for stream in streams:
        options = stream.origin.lowercase_options
        age = milliseconds(options.get("maxfileage", ""))
        # With this, Spark does not look at the age.
        is_latest_first = options.get("latestfirst", "").lower() == "true"
        if names_files(stream.origin) and age is not None and not is_latest_first:
            path = str(stream.origin.path)
            found[str(storage_path(path).resolve())] = age
    return found
