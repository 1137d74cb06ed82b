"""Lock: a place that one process has at a time.

On this machine a lock on a file says so, which a kill lets go of. Stores have no locks: there a
file names who holds the place, and is renewed while it is held. One that was not renewed for a
while is taken over, at once if its holder was a process of this machine that is gone. A holder that
finds another one's name in it has lost the place, and must not write there any more (`check`).
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol
from uuid import uuid4

from penstock.errors import HostError
from penstock.io.storage.hadoop_path import HadoopPath
from penstock.io.storage.storage_path import StoragePath

#: Seconds after which a holder renews what it holds, and after which it counts as gone.
RENEWED, EXPIRES = 10.0, 60.0
#: Seconds in which another one that takes over at the same time is seen.
_SETTLES = 1.0


class Lock(Protocol):
    """What is held."""

    def check(self) -> None:
        """Raise if it was taken over by another process."""

    def release(self) -> None:
        """Leave it to others."""


def hold(file: StoragePath) -> Lock | None:
    """The place that a file stands for, held by this process; None: another one has it."""
    if isinstance(file, HadoopPath):
        return Lease.of(file)
    assert isinstance(file, Path)
    handle = _locked(file)
    return None if handle is None else LockedFile(file, handle)


def is_held(file: StoragePath) -> bool:
    """Whether somebody has the place of this machine that a file stands for.

    It disturbs nobody: a lock that is tried would be one that others find.
    """
    assert isinstance(file, Path)
    try:
        number = file.stat().st_ino
        locks = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return False  # nobody has been there
    return any(f":{number} " in line and " FLOCK " in line for line in locks)


class LockedFile:
    """A locked file of this machine."""

    def __init__(self, file: Path, handle: IO[str]) -> None:
        self._file, self._handle = file, handle

    def check(self) -> None:
        """Nobody takes it over."""

    def release(self) -> None:
        if not self._handle.closed:
            # Removed while it is still locked: whoever waits for it sees that it is another file.
            with suppress(OSError):
                self._file.unlink()
            self._handle.close()


def _locked(file: Path) -> IO[str] | None:
    """The file, locked; None if somebody else has it."""
    while True:
        lock = file.open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return None
        # The one who had it may have removed it between our two calls.
        with suppress(FileNotFoundError):
            if os.fstat(lock.fileno()).st_ino == file.stat().st_ino:
                return lock
        lock.close()


class Lease:
    """A file in a store that says who holds a place."""

    def __init__(self, file: HadoopPath, said: bytes) -> None:
        self._file, self._said = file, said
        self._over = threading.Event()
        self._is_lost = False
        threading.Thread(target=self._renew, name=f"renew {file.name}", daemon=True).start()

    @classmethod
    def of(cls, file: HadoopPath) -> Lease | None:
        said = json.dumps({"id": uuid4().hex, **_this_process()}).encode()
        try:
            file.create(said)
        except FileExistsError:
            if not _is_free(file):
                return None
            file.write_whole(said)
            time.sleep(_SETTLES)
            if file.read_bytes() != said:
                return None
        return cls(file, said)

    def check(self) -> None:
        if self._is_lost:
            raise HostError(
                f"another process has taken over what `{self._file}` stands for",
                hint="this one could not reach the store for a while; let the other one run",
            )

    def release(self) -> None:
        self._over.set()
        with suppress(OSError):
            if self._file.read_bytes() == self._said:
                self._file.unlink(missing_ok=True)

    def _renew(self) -> None:
        while not self._over.wait(RENEWED):
            with suppress(OSError):  # perhaps the next time
                self._is_lost = self._file.read_bytes() != self._said
                if self._is_lost:
                    return
                self._file.write_whole(self._said)


def _is_free(file: HadoopPath) -> bool:
    """Whether the one who held a place is gone."""
    try:
        held = json.loads(file.read_bytes() or b"{}")
        if _is_gone(held):
            return True
        now = file.with_name(f".{file.name}.{uuid4().hex}")  # by the store's clock
        now.touch()
        try:
            return now.stat().st_mtime - file.stat().st_mtime > EXPIRES
        finally:
            now.unlink(missing_ok=True)
    except FileNotFoundError:
        return True


def _this_process() -> dict[str, str | int]:
    return {"host": socket.gethostname(), "process": os.getpid(), "since": _since(os.getpid())}


def _is_gone(held: dict[str, str | int]) -> bool:
    """Whether a holder was a process of this machine that is there no more."""
    is_ours = held.get("host") == socket.gethostname()
    return is_ours and _since(int(held["process"])) != held["since"]


def _since(process: int) -> str:
    """When a process began, in ticks of its machine; empty: there is none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
