"""OutputFolder: a directory of results, which one run writes at a time and one checkpoint owns.

Two empty files in it say so. `_lock` is locked while somebody writes; a kill lets go of it.
`_owner.ID` names the checkpoint whose results they are, and travels along when the directory is
moved. Both are empty and begin with `_`, so that nothing that reads the directory takes them for
results.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import IO

from penstock.errors import HostError

LOCK = "_lock"
OWNER = "_owner."


class OutputFolder:
    """A directory that is held by this process until `release`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(path / LOCK)
        except OSError as cause:
            raise HostError(
                f"cannot write results to `{path}`: {cause}",
                hint="name another directory after INTO",
            ) from cause
        if self._lock is None:
            raise HostError(
                f"another run is writing its results into `{path}`",
                hint="stop that one first, or name another directory after INTO",
            )

    @property
    def owner(self) -> str | None:
        """The id of the checkpoint whose results these are; None: of none."""
        found = next(self.path.glob(f"{OWNER}*"), None)
        return found.name.removeprefix(OWNER) if found is not None else None

    def own(self, checkpoint: str) -> None:
        """Make it this checkpoint's, whosever it was."""
        for mark in self.path.glob(f"{OWNER}*"):
            mark.unlink()
        (self.path / f"{OWNER}{checkpoint}").touch()

    @property
    def has_results(self) -> bool:
        return any(self.path.glob("part-*"))

    def remove_unfinished(self) -> None:
        """Remove files that a run was writing when it was killed."""
        for file in self.path.glob(".part-*"):
            with suppress(OSError):
                file.unlink()

    def release(self) -> None:
        """Let others write."""
        if self._lock is not None:
            # Removed while it is still locked: whoever waits for it sees that it is another file.
            with suppress(OSError):
                (self.path / LOCK).unlink()
            self._lock.close()
            self._lock = None


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
