"""RowBuffer: the latest rows that nobody has taken yet, at most so many.

Results that nobody fetches and rejected rows that nobody looks at must not fill the memory. A
buffer drops the oldest rows beyond its limit, and counts them.

Rows come in parts, each under a key: a part that comes again, because Spark repeats its batch,
replaces the first one. Only late parts come again, so older ones that are small are put together:
a thousand tables of one row take a hundred times the memory of one table. The host may put while
the program takes, so there is a lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import polars as pl

K = TypeVar("K", bound=Hashable)

#: So many of the latest parts may come again.
LATEST = 100
#: Parts of fewer rows are put together.
SMALL = 10_000


class RowBuffer(Generic[K]):
    """Parts by key, oldest first; `limit` is in rows, None: all are kept.

    Parts whose keys are of one `kind` have the same columns and may become one, under the key of
    the last.
    """

    def __init__(self, limit: int | None, kind: Callable[[K], Hashable] = lambda key: None) -> None:
        self.limit = limit
        self._kind = kind
        self.rows = 0  # that are kept
        self.dropped = 0
        self._parts: dict[K, pl.DataFrame] = {}
        self._lock = threading.Lock()

    def put(self, key: K, rows: pl.DataFrame) -> None:
        with self._lock:
            replaced = self._parts.get(key)
            if replaced is None and not rows.height:
                return
            self._parts[key] = rows
            self.rows += rows.height - (0 if replaced is None else replaced.height)
            if self.limit is not None:
                self._drop(self.rows - self.limit)
            if len(self._parts) > 2 * LATEST:
                self._put_together()

    def _put_together(self) -> None:
        """Make few parts of many small ones; in each kind, rows stay in their order."""
        parts = list(self._parts.items())
        old, latest = parts[:-LATEST], parts[-LATEST:]
        small: dict[Hashable, list[tuple[K, pl.DataFrame]]] = {}
        together: list[tuple[K, pl.DataFrame]] = []
        for key, rows in old:
            kind = self._kind(key)
            small.setdefault(kind, []).append((key, rows))
            if sum(part.height for _, part in small[kind]) >= SMALL:
                together.append(_as_one(small.pop(kind)))
        together += map(_as_one, small.values())
        self._parts = dict([*together, *latest])

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


def _as_one(parts: list[tuple[K, pl.DataFrame]]) -> tuple[K, pl.DataFrame]:
    """Parts of one kind as one, under the key of the last."""
    key = parts[-1][0]
    return key, parts[0][1] if len(parts) == 1 else pl.concat([r for _, r in parts], rechunk=True)
