"""SegmentCache: decoded segments of state, in this process and shared with others of this machine.

Spark hands the same group to one Python worker now and to another then. So segments worth the
trouble are also put into shared memory as Arrow files under their id, where every worker finds
them. The cache holds what is right or nothing: an id names one content for ever.

The folder in shared memory lies where everybody may write, so it is used only if it is ours and
nobody else's: what another user had put there would be read as state. Whoever uses the folder of a
query holds a lock on it, which a kill lets go of; folders that nobody holds are removed at the next
start.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import polars as pl
import pyarrow as pa

#: Where memory is shared.
MEMORY = Path("/dev/shm")

#: Folders that this process uses, with the handles that hold them.
_HELD: dict[Path, int] = {}

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
        rows = _map(self._folder / f"{number}.arrow")
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


def _map(file: Path) -> pl.DataFrame | None:
    """The rows of a file, without copying them; None if it is not there."""
    try:
        table = pa.ipc.open_stream(pa.memory_map(str(file))).read_all()
    except OSError:
        return None
    rows = pl.from_arrow(table, rechunk=False)
    assert isinstance(rows, pl.DataFrame)
    return rows


def shared_folder(query: str) -> Path | None:
    """The folder in shared memory for one Spark query, held by this process until it ends.

    None where there is no shared memory, or none that is safe to use.
    """
    ours = _ours_in(MEMORY)
    if ours is None:
        return None
    folder = ours / query
    try:
        if folder not in _HELD:
            forget_stale()
            folder.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            _HELD[folder] = handle
    except OSError:  # somebody is just removing it
        return None
    return folder


def forget_shared(query: str) -> None:
    """Remove what a query left in shared memory."""
    ours = _ours_in(MEMORY)
    if ours is not None:
        handle = _HELD.pop(ours / query, None)
        if handle is not None:
            os.close(handle)
        shutil.rmtree(ours / query, ignore_errors=True)


def forget_stale() -> None:
    """Remove what queries left in shared memory whose processes are gone."""
    ours = _ours_in(MEMORY)
    if ours is None:
        return
    for folder in ours.iterdir():
        if folder in _HELD:
            continue
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _ours_in(memory: Path) -> Path | None:
    """Our folder there, if nobody else can have put anything into it."""
    folder = memory / f"penstock-{os.getuid()}"
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
        is_safe = (
            stat.S_ISDIR(found.st_mode)  # and no link to one
            and found.st_uid == os.getuid()
            and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        )
        if is_safe and stat.S_IMODE(found.st_mode) != 0o700:
            folder.chmod(0o700)  # others could read it, as an earlier release left it
    except OSError:  # no shared memory, or not for us
        return None
    return folder if is_safe else None


def _write(file: Path, data: bytes) -> None:
    """In one piece, and without harm where memory is full: the cache may always miss."""
    hidden = file.with_name(f"{file.stem}.{uuid4().hex}")
    try:
        hidden.write_bytes(data)
        hidden.replace(file)
    except OSError:
        with suppress(OSError):
            hidden.unlink(missing_ok=True)
