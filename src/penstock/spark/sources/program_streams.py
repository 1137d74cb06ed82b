"""ProgramStreams: streams that the program brings itself, as DataFrames of Spark or as iterables.

A DataFrame is read as it is. What an iterable gives is spooled into a folder (`spool`): of a
checkpoint, if a pipeline that reads it has one, else a temporary one.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from penstock.checkpoint.layout import Layout
from penstock.errors import NotExecutable
from penstock.io.iterables import Supply
from penstock.io.storage.scratch import scratch
from penstock.io.storage.storage_path import StoragePath
from penstock.model.streams import Stream
from penstock.spark.sources.spool import FilesRead, Spool


class ProgramStreams:
    """The streams of one engine that have no place of their own to be read from."""

    def __init__(self) -> None:
        #: What each stream is; the engine adds to it.
        self.frames: dict[str, DataFrame] = {}
        self.supplies: dict[str, Supply] = {}
        self._spools: dict[str, Spool] = {}
        self._temporary: list[Path] = []

    def remove(self, name: str) -> None:
        self.frames.pop(name, None)
        self.supplies.pop(name, None)
        spool = self._spools.pop(name, None)
        if spool is not None:
            spool.stop()

    def frame(self, name: str, session: SparkSession) -> DataFrame | None:
        """A stream as Spark reads it; None: it is none of these."""
        if name in self.frames:
            return self.frames[name]
        return self._spools[name].frame(session) if name in self._spools else None

    def place(
        self,
        streams: Iterable[Stream],
        readers: Sequence[tuple[Container[str], StoragePath | None]],
    ) -> None:
        """Give every iterable that is read a folder, in a checkpoint if one reads it.

        `readers` are the pipelines to come: what each reads, and its checkpoint.
        """
        for stream in streams:
            name = stream.name
            places = [place for read, place in readers if name in read]
            if name not in self.supplies or not places:
                continue
            kept = [place for place in places if place is not None]
            if name not in self._spools:
                place = next(iter(kept), None)
                if place is None:
                    temporary = Path(tempfile.mkdtemp(dir=scratch()))
                    self._temporary.append(temporary)
                    place = temporary
                folder = Layout(place).spooled(name)
                self._spools[name] = Spool(stream, self.supplies[name], folder)
            self._spools[name].note_readers(kept)

    def start(
        self, rows_read: Callable[[str], int], files_read: Callable[[str], FilesRead]
    ) -> None:
        """Begin to spool, no faster than rows are read; what was read may be deleted."""
        for name, spool in self._spools.items():
            spool.start(partial(rows_read, name), partial(files_read, name))

    def folder(self, name: str) -> StoragePath | None:
        """Where a stream is spooled; None: it is not."""
        return self._spools[name].folder if name in self._spools else None

    @property
    def are_idle(self) -> bool:
        return all(spool.is_idle for spool in self._spools.values())

    @property
    def are_over(self) -> bool:
        return all(spool.is_over for spool in self._spools.values())

    def check(self) -> None:
        """Raise what an iterable failed with, if one did."""
        for spool in self._spools.values():
            spool.check()

    def stop(self) -> None:
        """Take no more rows."""
        for spool in self._spools.values():
            spool.stop()
        self._spools = {}

    def clean_up(self) -> None:
        """Remove what was kept nowhere for good, once nobody reads it."""
        for folder in self._temporary:
            shutil.rmtree(folder, ignore_errors=True)
        self._temporary = []


def check_streams(name: str, frame: DataFrame) -> None:
    """Refuse a DataFrame that is read once, whole."""
    if not frame.isStreaming:
        raise NotExecutable(
            f"`{name}` is a batch DataFrame, not a streaming one",
            hint="read it with spark.readStream; or hand its rows over: "
            f'engine.stream("{name}", frame.toArrow(), columns=...); '
            f'or make it a static table: engine.table("{name}", frame)',
        )
