"""UnreadableFiles: which files of a pipeline's batches are skipped (OPTIONS (unreadable 'skip')).

When Spark hands a batch over, its files are known and nothing of it is computed. So the driver
tries them then, and writes down which cannot be read (`state/unreadable_log.py`); tasks skip these
and no others, also when the batch is repeated. A file that only then turns out to be unreadable
ends the query.

Spark reads a file once, by its name. A file that was skipped and is another one by now is forgotten
by Spark's source at the next batch, so the one after that brings it again. While nothing comes, an
empty message makes that batch.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from penstock.errors import HostError
from penstock.io.storage.storage_path import StoragePath
from penstock.io.unreadable import skips_unreadable, why_unreadable
from penstock.model.streams import Stream
from penstock.spark.catching_up.history import History
from penstock.spark.sources.direct_files import is_direct, read_file
from penstock.spark.state.spark_files import log_offsets
from penstock.spark.state.unreadable_log import (
    SkippedFile,
    UnreadableLog,
    listed,
    name_of,
    signature_of,
)

#: Seconds between two looks whether a file has changed.
PAUSE = 1.0
#: The control stream is the first of Spark's sources.
_FIRST = 1


class UnreadableFiles:
    """Those of one pipeline; `sources` are the numbers of its streams among Spark's sources.

    `forget` has one of these sources forget paths of files, and `send` makes a batch.
    """

    def __init__(
        self,
        checkpoint: StoragePath,
        spark: StoragePath,
        streams: Iterable[Stream],
        sources: Mapping[str, int],
        forget: Callable[[int, Sequence[str]], None],
        send: Callable[[], object],
    ) -> None:
        self._log = UnreadableLog(checkpoint)
        self._streams = {each.name: each for each in streams}
        self._histories = {name: History(spark, sources[name]) for name in self._streams}
        self._sources = sources
        self._spark = spark
        self._forget = forget
        self._send = send
        #: Changed files that Spark was told to forget; they come with one of the next batches.
        self._forgotten: set[tuple[str, str]] = set()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="penstock-files", daemon=True)

    def begin_run(self) -> None:
        """Spark's sources begin, perhaps again: they know all files that they have ever read."""
        self._forgotten.clear()
        if self.has_changes:
            self._send()

    def start(self) -> None:
        """Look from now on whether files change."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def listed(self) -> dict[str, dict[str, str]]:
        """By stream, the files that are skipped so far, each with the reason."""
        known = listed(self._log.now())
        return {name: known[name] for name in self._streams if name in known}

    @property
    def has_changes(self) -> bool:
        """Whether a file is another one than it was when it was skipped."""
        return any(True for _ in self._changed())

    def begin(self, batch: int) -> dict[str, list[str]]:
        """By stream, the files that tasks of a batch are to skip."""
        skipped = self._log.of(batch)
        if skipped is None:
            self._decide(batch)
            skipped = self._log.of(batch) or {}
        self._have_changed_read()
        return {name: [each.name for each in of.values()] for name, of in skipped.items()}

    def _decide(self, batch: int) -> None:
        """Try the files of a batch, if it has any, and note what became of it."""
        files = {name: self._files(name, batch) for name in self._streams}
        if not any(files.values()):
            return
        before = self._log.now()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            tried = {
                name: [each for each in pool.map(partial(self._tried, name), paths) if each.reason]
                for name, paths in files.items()
            }
        skipped = {name: {each.path: each for each in of} for name, of in tried.items()}
        known = {name: before.get(name, {}) for name in files}
        read = {
            name: {p: known[name][p] for p in of if p in known[name]} for name, of in files.items()
        }
        self._log.write(batch, skipped, read)
        self._forgotten -= {(name, path) for name, paths in files.items() for path in paths}

    def _files(self, name: str, batch: int) -> list[str]:
        """The files of a stream that come with a batch, as Spark names them."""
        source = self._sources[name]
        before = log_offsets(self._spark, batch - 1).get(source, -1) if batch else -1
        last = log_offsets(self._spark, batch).get(source, -1)
        return [line["path"] for line in self._histories[name].lines(before + 1, last)]

    def _tried(self, name: str, path: str) -> SkippedFile:
        signature = signature_of(name_of(path))
        reason = why_unreadable(partial(read_file, name_of(path), self._streams[name]))
        return SkippedFile(path, reason, signature)

    def _changed(self) -> Iterator[tuple[str, str]]:
        known = self._log.now()
        for name in self._streams:
            for path, each in known.get(name, {}).items():
                if (name, path) not in self._forgotten and each.has_changed:
                    yield name, path

    def _have_changed_read(self) -> None:
        """Have Spark take files that have changed for new ones; it waits for us meanwhile."""
        changed = list(self._changed())
        for name in {name for name, _ in changed}:
            paths = [path for stream, path in changed if stream == name]
            self._forget(self._sources[name], paths)
        self._forgotten.update(changed)

    def _watch(self) -> None:
        was_due = False
        while not self._stopped.wait(PAUSE):
            try:
                is_due = self.has_changes
                if is_due and not was_due:
                    self._send()
            except (HostError, OSError):
                return  # the checkpoint is gone, and whoever uses the query sees it
            was_due = is_due


def unreadable_files(
    checkpoint: StoragePath,
    spark: StoragePath,
    streams: Sequence[Stream],
    frames: Mapping[str, DataFrame],
    forget: Callable[[int, Sequence[str]], None],
    send: Callable[[], object],
) -> UnreadableFiles | None:
    """For a pipeline that reads these streams, one after the other; None: it skips nothing."""
    mine = [each for each in streams if is_direct(each) and skips_unreadable(each)]
    if not mine:
        return None
    sources, number = {}, _FIRST
    for each in streams:
        sources[each.name] = number
        number += _sources_in(frames[each.name])
    return UnreadableFiles(checkpoint, spark, mine, sources, forget, send)


def _sources_in(frame: DataFrame) -> int:
    """How many of Spark's streaming sources a frame reads."""
    plan: Any = frame._jdf.queryExecution().analyzed()
    leaves = plan.collectLeaves()
    return sum(bool(leaves.apply(place).isStreaming()) for place in range(leaves.size()))
