"""SegmentCache: decoded segments of state, in this process and shared with others of this machine.

Spark hands the same group to one Python worker now and to another then. So segments worth the
trouble are also put into shared memory as Arrow files under their id, where every worker finds
them. The cache holds what is right or nothing: an id names one content for ever.

A worker does not learn of segments that are removed while another one has their group. So what was
not asked for in a while is kept here no longer; what lies in shared memory stays for the others,
until whoever has the group removes it.

On a cluster a group may move to another machine, where alone its segments are removed then. So a
file that nobody has asked for in an hour is removed; who wants it later asks Spark, and puts it
there again.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import polars as pl

from penstock.spark.alive_graphs import IDLE
from penstock.spark.shared_memory import map_rows

#: Below this, asking Spark costs less than opening a file.
WORTH_SHARING = 64 << 10
#: Seconds after which a file that nobody asks for is removed, and between two looks.
FORGOTTEN, LOOK = 3600.0, 60.0


class SegmentCache:
    """Least recently used segments go first once `room` bytes are used."""

    def __init__(
        self,
        folder: Path | None,
        room: int = 1 << 30,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._room = room
        self._clock = clock
        self._used = 0
        self._looked = time.time()
        #: By id, when it was last asked for, and the rows; in that order.
        self._kept: OrderedDict[int, tuple[float, pl.DataFrame]] = OrderedDict()

    @property
    def is_empty(self) -> bool:
        return not self._kept

    def get(self, number: int) -> pl.DataFrame | None:
        if number in self._kept:
            _, rows = self._kept[number]
            self._kept[number] = (self._clock(), rows)
            self._kept.move_to_end(number)
            return rows
        if self._folder is None:
            return None
        file = self._folder / f"{number}.arrow"
        found = map_rows(file)
        if found is not None:
            with suppress(OSError):  # it was dropped just now
                os.utime(file)
            self._keep(number, found)
        return found

    def put(self, number: int, rows: pl.DataFrame, data: bytes) -> None:
        if number not in self._kept:
            self._keep(number, rows)
        if self._folder is not None and len(data) >= WORTH_SHARING:
            _write(self._folder / f"{number}.arrow", data)
            if time.time() - self._looked > LOOK:
                self._looked = time.time()
                forget_old(self._folder, self._looked - FORGOTTEN)

    def drop(self, number: int) -> None:
        self._forget(number)
        if self._folder is not None:
            (self._folder / f"{number}.arrow").unlink(missing_ok=True)

    def forget_idle(self) -> None:
        """Keep no longer what nobody has asked for in a while."""
        since = self._clock() - IDLE
        while self._kept and self._kept[next(iter(self._kept))][0] < since:
            self._forget(next(iter(self._kept)))

    def _keep(self, number: int, rows: pl.DataFrame) -> None:
        self._kept[number] = (self._clock(), rows)
        self._used += int(rows.estimated_size())
        while self._used > self._room and len(self._kept) > 1:
            self._forget(next(iter(self._kept)))

    def _forget(self, number: int) -> None:
        _, gone = self._kept.pop(number, (0.0, None))
        if gone is not None:
            self._used -= int(gone.estimated_size())


def forget_old(folder: Path, before: float) -> None:
    """Remove segments that nobody has asked for since a time."""
    for file in folder.glob("*.arrow"):
        with suppress(OSError):  # another process drops it
            if file.stat().st_mtime < before:
                file.unlink()


def _write(file: Path, data: bytes) -> None:
    """In one piece, and without harm where memory is full: the cache may always miss."""
    hidden = file.with_name(f"{file.stem}.{uuid4().hex}")
    try:
        hidden.write_bytes(data)
        hidden.replace(file)
    except OSError:
        with suppress(OSError):
            hidden.unlink(missing_ok=True)
