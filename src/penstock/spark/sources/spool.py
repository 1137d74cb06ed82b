"""Spool: a Python iterable as a folder of files that Spark reads like any other.

    iterable ─► taker ─► rows at hand ─► writer ─► 000000000000.parquet, 000000004711.parquet, …

One thread takes rows from the iterable, which may wait as long as it likes; another writes what has
come, each file under a hidden name first. A file is named after the number of its first row, so the
folder itself says how many rows it holds. The writer pauses while Spark has too many files unread,
and the taker while the writer does: an iterable is asked for no more than can be used.

Spark logs which files belong to a batch, so what was spooled is read again after a crash, from
here. What was taken and not yet written is not: the iterable is asked for it again (`iterables`).
Files that every pipeline has read, in batches that are over, are deleted, but for the last. A list
beside the folder says what was written into it, so that a file that was lost or changed is
noticed: its rows would be neither read nor asked for again.

Malformed rows are among the others with NULLs, and in MALFORMED_COLUMN is what `conforming` would
have made of them.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any, TypeAlias

import polars as pl
from pyspark.sql import DataFrame, SparkSession

from penstock.checkpoint.layout import SpoolLayout
from penstock.errors import HostError, PenstockBug, PenstockError
from penstock.io.iterables import rows_of
from penstock.io.storage.manifest import Manifest
from penstock.io.storage.sealed import FAILURES, read_sealed, write_sealed, written
from penstock.io.storage.storage_path import StoragePath, along, way_from
from penstock.kernel.conform import Rows, conform, lines_as_text
from penstock.kernel.types import is_shown_otherwise, shown_type
from penstock.model.streams import Stream
from penstock.model.types import Type
from penstock.spark.sources.conforming import MALFORMED_COLUMN
from penstock.spark.sources.directories import own_folder

#: By checkpoint, names of files.
FilesRead: TypeAlias = Mapping[str, Collection[str]]

#: Rows of a file at most, but for tables that come as they are.
ROWS_PER_FILE = 100_000
#: Files that may lie unread.
FILES_AHEAD = 16
#: Seconds that rows are waited for before a file is written.
LINGER = 0.1


class Spool:
    """Carries the rows of one stream to its folder, from `start` until they end or `stop`."""

    def __init__(self, stream: Stream, supply: Any, folder: StoragePath) -> None:
        self.folder = folder
        self._stream = stream
        self._list = spooled_files(folder)
        self._supply = supply
        self._at_hand: list[Rows] = []
        self._taken = self._spooled = 0  # rows since the stream's beginning
        self._changed = threading.Condition()
        self._over = self._stopping = False
        self._failure: PenstockError | None = None
        self._threads: list[threading.Thread] = []
        self._files_read: Callable[[], FilesRead] = dict
        self._deleted: set[str] = set()  # of those that pipelines still tell of
        self._readers: list[str] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as cause:
            raise HostError(
                f"cannot store the rows of stream `{stream.name}` in `{folder}`: {cause}"
            ) from cause

    def frame(self, spark: SparkSession) -> DataFrame:
        """What is spooled, as Spark reads it."""
        columns = [f"`{c.name}` {c.type}" for c in self._stream.arriving]
        reader, place = own_folder(spark, self.folder)
        return reader.schema(", ".join([*columns, f"{MALFORMED_COLUMN} STRING"])).parquet(place)

    def start(
        self, rows_read: Callable[[], int], files_read: Callable[[], FilesRead] = dict
    ) -> None:
        """Begin; `rows_read` tells how many rows Spark has processed since.

        `files_read` tells by checkpoint which files each pipeline needs no more that reads here.
        """
        if self._threads:
            return
        self._files_read = files_read
        self._list.verify()
        self._taken = self._spooled = rows_spooled(self._list)
        # Half of a file that was being written when the process was killed.
        for file in SpoolLayout(self.folder).unfinished():
            file.unlink()
        work = {"take": self._take, "spool": lambda: self._write(rows_read)}
        self._threads = [
            threading.Thread(
                target=self._guarded, args=(does,), name=f"{what} {self._stream.name}", daemon=True
            )
            for what, does in work.items()
        ]
        for thread in self._threads:
            thread.start()

    @property
    def is_over(self) -> bool:
        """Whether the iterable has ended, and all of it is spooled."""
        # What never began, because its query could not start, is not waited for either.
        return not self._threads or (self._over and not any(t.is_alive() for t in self._threads))

    @property
    def is_idle(self) -> bool:
        """Whether everything that was taken is spooled."""
        return self._taken == self._spooled

    def check(self) -> None:
        """Raise what the iterable failed with, if it did."""
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Take no more, and write what was taken; an iterable that waits is left waiting."""
        self._stopping = True
        self._end()
        for thread in self._threads[1:]:
            thread.join()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except PenstockError as failure:
            self._end(failure)
        except Exception as cause:  # would be lost with the thread
            bug = PenstockBug(f"stream `{self._stream.name}` cannot be spooled: {cause!r}")
            bug.__cause__ = cause
            self._end(bug)

    def _end(self, failure: PenstockError | None = None) -> None:
        with self._changed:
            self._failure = self._failure or failure
            self._over = True
            self._changed.notify_all()

    def _take(self) -> None:
        for rows in rows_of(self._stream, self._supply, self._spooled):
            with self._changed:
                while self._taken - self._spooled >= ROWS_PER_FILE and not self._over:
                    self._changed.wait()
                if self._over:
                    return
                self._at_hand.append(rows)
                self._taken += len(rows)
                if len(self._at_hand) == 1 or self._taken - self._spooled >= ROWS_PER_FILE:
                    self._changed.notify_all()
        self._end()

    def _write(self, rows_read: Callable[[], int]) -> None:
        # Counted from here on: rows of an earlier run that are still unread only widen the limit.
        begun = self._spooled
        unread: deque[int] = deque()
        while True:
            while len(unread) >= FILES_AHEAD and not self._stopping:
                time.sleep(LINGER)
                while unread and unread[0] <= begun + rows_read():
                    unread.popleft()
            with self._changed:
                self._changed.wait_for(lambda: self._at_hand or self._over)
                self._changed.wait_for(
                    lambda: self._taken - self._spooled >= ROWS_PER_FILE or self._over, LINGER
                )
                taken, self._at_hand = self._at_hand, []
            if not taken:
                return
            rows = spoolable(self._stream, taken)
            if rows.height:
                write_spooled(self._stream, self._list, self._spooled, rows)
                self._delete_read()
            with self._changed:
                self._spooled += rows.height
                self._changed.notify_all()
            unread.append(self._spooled)

    def note_readers(self, checkpoints: Iterable[StoragePath]) -> None:
        """Remember who reads here: what one has not read stays, also while that is not started.

        They are remembered by the way from here, so that everything may be moved together.
        """
        file = SpoolLayout(self.folder).readers
        known = read_sealed(file) if file.exists() else []
        ways = [way_from(self.folder, checkpoint) for checkpoint in checkpoints]
        self._readers = sorted({*known, *ways})
        if self._readers != known:
            write_sealed(file, self._readers)

    def _delete_read(self) -> None:
        """Delete files that nobody can ask for; the last one tells how many rows there were."""
        read = self._files_read()
        readers = (along(self.folder, way) for way in self._readers)
        if not read or any(str(each) not in read and each.exists() for each in readers):
            return
        names = set.intersection(*map(set, read.values()))
        if names - self._deleted:
            last = max(self._list.read())
            numbers = {name: int(name.partition(".")[0]) for name in names - self._deleted}
            gone = {name: number for name, number in numbers.items() if number != last}
            self._list.forget(gone.values())
            self._deleted = (self._deleted | gone.keys()) & names


def spoolable(stream: Stream, taken: Sequence[Rows], no_rows: Sequence[str] = ()) -> pl.DataFrame:
    """Rows in the stream's types, in their order but for those that do not fit, which come last.

    `no_rows` are the texts of what is not a row at all.
    """
    conformed = [conform(stream, rows) for rows in _put_together(taken)]
    times = [c.name for c in stream.arriving if c.type is Type.TIMESTAMP]
    others = [c for c in stream.arriving if c.name not in times and is_shown_otherwise(c.type)]
    names = [c.name for c in stream.arriving]
    good = pl.concat([part.rows.select(names) for part in conformed]).with_columns(
        pl.col(times).cast(pl.Datetime("us", "UTC")),
        *(pl.col(c.name).cast(shown_type(c.type)) for c in others),
        pl.lit(None, dtype=pl.String()).alias(MALFORMED_COLUMN),
    )
    texts = [part.rejected for part in conformed if part.rejected is not None]
    texts += [lines_as_text(no_rows, stream.arriving)] if no_rows else []
    rejected = [json.dumps(row) for text in texts for row in text.rows()]
    bad = pl.DataFrame({MALFORMED_COLUMN: rejected}, schema={MALFORMED_COLUMN: pl.String()})
    return pl.concat([good, bad], how="diagonal")


def _put_together(taken: Sequence[Rows]) -> Iterator[Rows]:
    """Tables as they are, and the rows between them as one list each time."""
    for are_tables, parts in groupby(taken, lambda rows: isinstance(rows, pl.DataFrame)):
        if are_tables:
            yield from parts
        else:
            single: list[Any] = list(chain.from_iterable(parts))
            yield single


def rows_spooled(files: Manifest) -> int:
    """How many rows were spooled: those before the last file, and those in it."""
    parts = files.read()
    last = max(parts.values(), key=lambda part: part.number, default=None)
    return last.number + last.rows if last else 0


def spooled_files(folder: StoragePath) -> Manifest:
    """The list of what was spooled into a folder, by the number of the first row."""
    return Manifest(SpoolLayout(folder).manifest, folder, SpoolLayout.PATTERN)


def write_spooled(stream: Stream, files: Manifest, first: int, rows: pl.DataFrame) -> None:
    """Rows as the next file of a folder, whole or not at all."""
    file = SpoolLayout(files.folder).file(first)
    hidden = files.folder / f".{file.name}"
    try:
        with written(hidden) as local:
            rows.write_parquet(local)
        files.add(first, hidden, rows.height, file.name)
        hidden.rename(file)
    except FAILURES as cause:
        raise HostError(
            f"cannot store the rows of stream `{stream.name}` in `{files.folder}`: {cause}",
            hint="free some disk space; a restart reads them again",
        ) from cause
