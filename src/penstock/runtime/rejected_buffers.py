"""RejectedBuffers: the latest rejected rows of every stream, kept to be looked at."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from penstock.runtime.counts import RejectedRows
from penstock.runtime.row_buffer import RowBuffer
from penstock.runtime.status import StreamStatus

#: Rejected rows of a stream that are kept.
MAX_REJECTED = 10_000


class RejectedBuffers:
    """At most `limit` rows of each stream; older ones are dropped, and counted."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffers: dict[str, RowBuffer[Any]] = {}  # by stream

    def put(self, rejected: RejectedRows, *key: Hashable) -> None:
        """Keep rows; those of the same key are replaced."""
        buffer = self._buffers.setdefault(rejected.stream, RowBuffer(self._limit, _reason))
        buffer.put((rejected.reason, *key), rejected.rows)

    def rows(self) -> list[RejectedRows]:
        """What is kept, oldest first."""
        return [
            RejectedRows(stream, reason, rows)
            for stream, buffer in list(self._buffers.items())
            for (reason, *_), rows in buffer.parts()
        ]

    def forget(self, stream: str) -> None:
        self._buffers.pop(stream, None)

    def counted_in(self, status: StreamStatus) -> StreamStatus:
        """A stream's status, with how many of its rows are kept and were dropped."""
        buffer = self._buffers.get(status.name)
        if buffer is None:
            return status
        return replace(status, rejected_kept=buffer.rows, rejected_dropped=buffer.dropped)


def _reason(key: tuple[Hashable, ...]) -> Hashable:
    """What rejected rows have in common that are kept together: their columns follow from it."""
    return key[0]
