"""SegmentCache: decoded segments of state, in this process and shared with others of this machine.

Spark hands the same group to one Python worker now and to another then. So segments worth the
trouble are also put into shared memory as Arrow files under their id, where every worker finds
them. The cache holds what is right or nothing: an id names one content for ever.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import polars as pl

from penstock.spark.shared_memory import map_rows

#: Below this, asking Spark costs less than opening a file.
WORTH_SHARING = 64 << 10


class SegmentCache:
    """Least recently used segments go first once `room` bytes are used."""

    def __init__(self, folder: Path | None, room: int = 1 << 30) -> None:
        self._folder = folder
        self._room = room
        self._used = 0
        self._kept: OrderedDict[int, pl.DataFrame] = OrderedDict()

    def get(self, number: int) -> pl.DataFrame | None:
        rows = self._kept.get(number)
        if rows is not None:
            self._kept.move_to_end(number)
            return rows
        if self._folder is None:
            return None
        rows = map_rows(self._folder / f"{number}.arrow")
        if rows is not None:
            self._keep(number, rows)
        return rows

    def put(self, number: int, rows: pl.DataFrame, data: bytes) -> None:
        if number not in self._kept:
            self._keep(number, rows)
        if self._folder is not None and len(data) >= WORTH_SHARING:
            _write(self._folder / f"{number}.arrow", data)

    def drop(self, number: int) -> None:
        gone = self._kept.pop(number, None)
        if gone is not None:
            self._used -= int(gone.estimated_size())
        if self._folder is not None:
            (self._folder / f"{number}.arrow").unlink(missing_ok=True)

    def _keep(self, number: int, rows: pl.DataFrame) -> None:
        self._kept[number] = rows
        self._used += int(rows.estimated_size())
        while self._used > self._room and len(self._kept) > 1:
            _, gone = self._kept.popitem(last=False)
            self._used -= int(gone.estimated_size())


def _write(file: Path, data: bytes) -> None:
    """In one piece, and without harm where memory is full: the cache may always miss."""
    hidden = file.with_name(f"{file.stem}.{uuid4().hex}")
    try:
        hidden.write_bytes(data)
        hidden.replace(file)
    except OSError:
        with suppress(OSError):
            hidden.unlink(missing_ok=True)
