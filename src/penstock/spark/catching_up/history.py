"""History: the files of a stream that Spark has read, in the order in which it did.

Spark numbers what it reads of a source of files, and logs it (`state/source_logs.py`): an entry for
each batch that had files of it, every tenth with all before it. Offsets of a batch are numbers of
that log.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass

from penstock.checkpoint.layout import COMPACT, SparkLayout
from penstock.errors import HostError
from penstock.io.storage.storage_path import StoragePath
from penstock.spark.state.source_logs import Line, place_of
from penstock.spark.state.spark_files import damaged


@dataclass(frozen=True)
class HistoryEntry:
    """What a batch has read of a stream: the number in Spark's log, the files, when they came."""

    number: int
    files: tuple[str, ...]
    time: int  # of the newest file, in milliseconds

    @property
    def bytes(self) -> int:
        """The size of the files."""
        return sum(map(_size, self.files))


class History:
    """The log of one source, by its number among the sources of Spark's query."""

    def __init__(self, spark: StoragePath, source: int) -> None:
        self._folder = SparkLayout(spark).source(source)
        self._known: list[HistoryEntry] = []

    def up_to(self, last: int) -> list[HistoryEntry]:
        """All entries up to a number of the log."""
        known = len(self._known)
        if last >= known:
            lines = self._lines(range(known, last + 1))
            by_number: dict[int, list[Line]] = {number: [] for number in range(known, last + 1)}
            for line in lines:
                if line["batchId"] in by_number:
                    by_number[line["batchId"]].append(line)
            self._known += [entry_of(number, found) for number, found in by_number.items()]
        return self._known[: last + 1]

    def lines(self, first: int, last: int) -> list[Line]:
        """The lines of all entries from one number of the log to another; nothing is kept."""
        numbers = range(first, last + 1)
        return [line for line in self._lines(numbers) if line["batchId"] in numbers]

    def _lines(self, numbers: range) -> list[Line]:
        """The lines of some entries, and perhaps of others before them."""
        names = {file.name for file in self._folder.iterdir()}
        found: list[Line] = []
        for number in reversed(numbers):
            if f"{number}{COMPACT}" in names:  # which has all before it
                return found + self._read(f"{number}{COMPACT}")
            if str(number) not in names:
                raise damaged(self._folder / str(number), "is gone")
            found += self._read(str(number))
        return found

    def _read(self, name: str) -> list[Line]:
        _, *texts = (self._folder / name).read_bytes().decode().split("\n")
        return [json.loads(text) for text in texts if text]


def entry_of(number: int, lines: Iterable[Line]) -> HistoryEntry:
    """An entry of the log, of its lines.

    >>> entry_of(3, [{"path": "file:///in/a%20b.csv", "timestamp": 7, "batchId": 3}])
    HistoryEntry(number=3, files=('/in/a b.csv',), time=7)
    """
    in_order = sorted(lines, key=lambda line: (line["timestamp"], line["path"]))
    files = tuple("/".join(place_of(line)) for line in in_order)
    return HistoryEntry(number, files, max((line["timestamp"] for line in in_order), default=0))


def _size(file: str) -> int:
    try:
        return os.stat(file).st_size
    except OSError as cause:
        raise HostError(
            f"a query that begins FROM START has to read `{file}` again: {cause.strerror}",
            hint="put the file back, or start again without the query",
        ) from cause
