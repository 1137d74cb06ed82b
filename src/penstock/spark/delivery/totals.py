"""Totals: what a pipeline has counted since its checkpoint began, however often it was restarted.

A file of the checkpoint holds the counts of all batches but the last, and those of the last apart.
It is written before Spark commits the batch; a batch that Spark repeats replaces its own counts and
adds nothing, so no row is counted twice and none is missed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

from penstock.checkpoint.layout import Layout
from penstock.io.storage.sealed import read_sealed, write_sealed
from penstock.io.storage.storage_path import StoragePath

#: Whose counts, what is counted -> how much.
Counts: TypeAlias = Mapping[str, Mapping[str, int]]


def stream_counts(name: str) -> str:
    """Whose counts those of a stream are."""
    return f"stream {name}"


class Totals:
    """Counts of one pipeline; `folder` is its checkpoint, None: nothing is to be kept."""

    def __init__(self, folder: StoragePath | None) -> None:
        self._file = None if folder is None else Layout(folder).counts
        self._lock = threading.Lock()
        self._before: dict[str, Counter[str]] = {}
        self._batch, self._last = -1, {}  # type: tuple[int, Counts]
        if self._file is not None and self._file.exists():
            content = read_sealed(self._file)
            self._before = {whose: Counter(counts) for whose, counts in content["before"].items()}
            self._batch, self._last = content["batch"], content["last"]

    def note(self, batch: int, counts: Counts) -> None:
        """Take the counts of a batch, perhaps again."""
        with self._lock:
            if batch < self._batch or (batch > self._batch and not _counts_any(counts)):
                return  # nothing that would change a total
            if batch > self._batch:
                for whose, counted in self._last.items():
                    self._before.setdefault(whose, Counter()).update(counted)
            self._batch, self._last = batch, counts
            if self._file is not None:
                content = {"before": self._before, "batch": batch, "last": counts}
                write_sealed(self._file, content)

    def of(self, whose: str) -> Counter[str]:
        """All that was counted."""
        with self._lock:
            return self._before.get(whose, Counter()) + Counter(self._last.get(whose, {}))


def _counts_any(counts: Counts) -> bool:
    return any(number for each in counts.values() for number in each.values())
