"""Scratch: a folder for what this process needs no longer than it runs.

It lies in the temporary directory, in a folder that only this user can enter, and is removed when
the process ends. A process holds a lock on its folder; a kill lets go of the lock, and the next
process that asks for a folder of its own removes what nobody holds.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path


@cache
def scratch() -> Path:
    """The folder of this process."""
    ours = own_folder(Path(tempfile.gettempdir()))
    if ours is None:  # somebody else has taken its name
        folder = Path(tempfile.mkdtemp(prefix="penstock-"))
    else:
        remove_stale(ours)
        folder = _held_folder(ours)
    atexit.register(_remove, folder, os.getpid())
    return folder


def use_for_all_temporary_files() -> None:
    """Have all temporary files of this process and of those that it starts lie in its scratch."""
    place = str(scratch())
    tempfile.tempdir = os.environ["TMPDIR"] = place


def own_folder(place: Path) -> Path | None:
    """This user's folder in a place where all may write; None if others can write into it, too."""
    folder = place / f"penstock-{os.getuid()}"
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
    except OSError:  # there is no such place, or not for us
        return None
    return folder if is_safe else None


def hold(folder: Path) -> int:
    """A handle that holds a folder as long as it is open; OSError if somebody is removing it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def remove_stale(ours: Path) -> None:
    """Remove the folders in it that nobody holds."""
    for folder in ours.iterdir():
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _held_folder(ours: Path) -> Path:
    while True:
        folder = Path(tempfile.mkdtemp(dir=ours, prefix=""))
        with suppress(OSError):  # between the two lines somebody may remove it as stale
            hold(folder)
            if folder.is_dir():
                return folder


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # and not one that it was forked into
        shutil.rmtree(folder, ignore_errors=True)
