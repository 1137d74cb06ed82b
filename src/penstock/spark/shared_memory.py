"""Folders in shared memory, one for each of Spark's queries on this machine.

Shared memory lies where everybody may write, so a folder is used only if it is ours and nobody
else's: what another user had put there would be read as rows of ours. Whoever uses the folder of a
query holds a lock on it, which a kill lets go of; folders that nobody holds are removed at the next
start.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

import polars as pl
import pyarrow as pa

#: Where memory is shared.
MEMORY = Path("/dev/shm")

#: Folders that this process uses, with the handles that hold them.
_HELD: dict[Path, int] = {}


def map_rows(file: Path) -> pl.DataFrame | None:
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


def let_go_of_shared(query: str) -> None:
    """Hold the folder of a query no longer, of which this process has had nothing for a while."""
    ours = _ours_in(MEMORY)
    handle = None if ours is None else _HELD.pop(ours / query, None)
    if handle is not None:
        os.close(handle)


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
