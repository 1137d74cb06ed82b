"""RowBuffer: the latest rows that nobody has taken yet, at most so many.

Results that nobody fetches and rejected rows that nobody looks at must not fill the memory. A
buffer drops the oldest rows beyond its limit, and counts them.

Rows come in parts, each under a key: a part that comes again, because Spark repeats its batch,
replaces the first one. The host may put while the program takes, so there is a lock.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Generic, TypeVar

import polars as pl

K = TypeVar("K", bound=Hashable)


class RowBuffer(Generic[K]):
    """Parts by key, oldest first; `limit` is in rows, None: all are kept."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.rows = 0  # that are kept
        self.dropped = 0
        self._parts: dict[K, pl.DataFrame] = {}
        self._lock = threading.Lock()

    def put(self, key: K, rows: pl.DataFrame) -> None:
        with self._lock:
            replaced = self._parts.get(key)
            self._parts[key] = rows
            self.rows += rows.height - (0 if replaced is None else replaced.height)
            if self.limit is not None:
                self._drop(self.rows - self.limit)

    def _drop(self, excess: int) -> None:
        """Drop rows from the front."""
        while excess > 0:
            key, oldest = next(iter(self._parts.items()))
            count = min(excess, oldest.height)
            if count == oldest.height:
                del self._parts[key]
            else:
                self._parts[key] = oldest.slice(count)
            self.rows -= count
            self.dropped += count
            excess -= count

    def parts(self) -> list[tuple[K, pl.DataFrame]]:
        """What is kept, oldest first."""
        with self._lock:
            return list(self._parts.items())

    def take_first(self) -> tuple[K, pl.DataFrame] | None:
        """The oldest part, which is not kept any longer; None: there is none."""
        with self._lock:
            if not self._parts:
                return None
            key = next(iter(self._parts))
            self.rows -= self._parts[key].height
            return key, self._parts.pop(key)
