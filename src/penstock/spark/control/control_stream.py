"""ControlStream: punctuation from outside, as small files that Spark reads like any other stream.

Punctuation is a file of one line of JSON, `{"stream": bound}`, written once under the next number;
bounds on some rows only are under a name that no stream has (ABOUT).
Spark logs which files belong to a batch before it runs, and reads the same ones when it repeats the
batch; so a bound from outside, or the end of the input, comes at the same place after a
crash. Nothing of it runs in Python: while there is no new file, this costs the listing of a folder.

The line also has a checksum, under a name that no stream has; files that are found again after a
restart are checked by it. No two files ever have the same name, not even if the last one was
deleted: Spark would take the second for one that it has read.

The end of a run is such a file as well, under no stream's name: whatever waits is released, up to
bounds that each group finds for itself, and all of them the same (`optimizer/closing.py`).

Every group gets all punctuation, as messages of the exchange.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.checkpoint.layout import ControlLayout
from penstock.io.storage.hadoop_path import HadoopPath
from penstock.io.storage.storage_path import StoragePath
from penstock.model.punctuation import Where, to_json
from penstock.spark.exchange.messages import control_columns
from penstock.spark.faults import reach, step
from penstock.spark.sources.directories import own_folder
from penstock.spark.state.spark_files import damaged

#: The name under which a line's checksum stands.
CHECKSUM = ""
#: Names that no stream has either: that the run ends, and bounds on some rows only.
END_OF_RUN, ABOUT = "\nend", "\nabout"

#: So many messages are always kept, the latest.
KEPT = 16


class ControlStream:
    """The driver's end: a folder of punctuation."""

    def __init__(self, folder: StoragePath) -> None:
        self.folder = folder
        self._files = ControlLayout(folder)
        self._writing = Lock()
        folder.mkdir(parents=True, exist_ok=True)
        for file in self._files.sent():
            _check(file)

    def send(self, message: Mapping[str, Any]) -> StoragePath:
        """Send a bound for each stream named, or what `about` says of some rows."""
        with self._writing:  # the program and whoever asks silent streams may send at once
            for _ in step("control.send"):
                file = self._write(message)
        return file

    def _write(self, message: Mapping[str, Any]) -> StoragePath:
        files = self._files.sent()
        last = self._files.number_of(files[-1]) if files else 0
        file = self._files.file(last + 1)
        hidden = self.folder / f".{file.name}"  # Spark passes over names that begin like this
        text = json.dumps({**_in_order(message), CHECKSUM: _checksum(message)})
        if isinstance(file, HadoopPath):
            file.write_whole(text.encode())  # it appears when it is whole
            return file
        Path(str(hidden)).write_text(text)
        # A clock set back must not make it look older than those that Spark has read.
        latest = max((f.stat().st_mtime_ns for f in files), default=0)
        if hidden.stat().st_mtime_ns < latest:
            os.utime(str(hidden), ns=(latest, latest))
        reach("control.written")
        hidden.rename(file)
        return file

    def forget(self, before: float) -> None:
        """Remove messages that were sent before a batch began which is over.

        The latest stay, whatever their age: numbers never come twice.
        """
        self._remove(lambda file: file.stat().st_mtime < before)

    def forget_read(self, names: Collection[str]) -> None:
        """Remove messages that batches have read which are over; the latest stay here, too."""
        self._remove(lambda file: file.name in names)

    def _remove(self, is_needless: Callable[[StoragePath], bool]) -> None:
        with self._writing:  # whoever sends looks at all that are there
            for file in filter(is_needless, self._files.sent()[:-KEPT]):
                file.unlink()

    def messages(self, spark: SparkSession, groups: Sequence[int]) -> DataFrame:
        """Punctuation as messages of the exchange, one per group."""
        reader, place = own_folder(spark, self.folder)
        files = reader.text(place)
        # As text, which is one call of Java's: as expressions it would be a hundred.
        return files.selectExpr(*control_columns(groups, "value"))


def is_read_first(sources: Sequence[str], folder: str) -> bool:
    """Whether Spark looks into this folder before the streams, given its sources in their order.

    It must stand once before all of them, or before each.

    >>> is_read_first(["FileStreamSource[file:/x/control]", "Kafka[a]", "Kafka[b]"], "/x/control")
    True
    >>> is_read_first(["Kafka[a]", "FileStreamSource[file:/x/control]"], "/x/control")
    False
    """
    places = [place for place, source in enumerate(sources) if folder in source]
    return places in ([0], list(range(0, len(sources), 2)))


def key_of(stream: str, column: str) -> str:
    """How a message calls the bound of a column that is stamped beside a stream's own time."""
    return f"{stream}.{column}"


def about(stream: str, bound: int, where: Where) -> dict[str, Any]:
    """A message with a bound for some rows of a stream."""
    return {ABOUT: [[stream, bound, to_json(where)]]}


def _in_order(message: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(message.items()))


def _checksum(message: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(_in_order(message)).encode())


def _check(file: StoragePath) -> None:
    """Raise unless a message is as it was sent."""
    try:
        found = json.loads(file.read_text())
        checksum = found.pop(CHECKSUM)
        is_whole = checksum == _checksum(found)
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as cause:
        raise damaged(file, f"cannot be read as punctuation: {cause}") from cause
    if not is_whole:
        raise damaged(file, "was changed since it was written")
