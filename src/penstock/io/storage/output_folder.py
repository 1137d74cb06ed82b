"""OutputFolder: a directory of results, which one run writes at a time and one checkpoint owns.

Two empty files in it say so. `_lock` is locked while somebody writes; a kill lets go of it.
`_owner.ID` names the checkpoint whose results they are, and travels along when the directory is
moved. Both are empty and begin with `_`, so that nothing that reads the directory takes them for
results.

Stores have no locks. There the owner's mark decides: whoever writes last has set it, and one that
does not find its own any more writes nothing (`check`).
"""

from __future__ import annotations

import threading
from contextlib import suppress

from penstock.errors import HostError
from penstock.io.storage.hadoop_path import HadoopPath
from penstock.io.storage.lock import hold
from penstock.io.storage.storage_path import StoragePath

LOCK = "_lock"
OWNER = "_owner."


#: Directories that this process is about to release (`leave`).
_LEFT: dict[str, threading.Event] = {}


class OutputFolder:
    """A directory that is held by this process until `release`.

    One that another query of this process is about to release is waited for, `patience` seconds.
    """

    def __init__(self, path: StoragePath, patience: float = 0.0) -> None:
        self.path = path
        self._mark = ""
        self._lock = None
        try:
            path.mkdir(parents=True, exist_ok=True)
            if not isinstance(path, HadoopPath):
                self._lock = hold(path / LOCK)
                left = _LEFT.get(str(path)) if self._lock is None else None
                if left is not None and left.wait(patience):
                    self._lock = hold(path / LOCK)
                if self._lock is None:
                    raise has_writer(path)
        except OSError as cause:
            raise unwritable(path, str(cause)) from cause

    @property
    def owner(self) -> str | None:
        """The id of the checkpoint whose results these are; None: of none."""
        found = next(self.path.glob(f"{OWNER}*"), None)
        return found.name.removeprefix(OWNER) if found is not None else None

    @property
    def mark(self) -> str:
        """The name of the file that says whose it is; empty: nobody's yet."""
        return self._mark

    def own(self, checkpoint: str) -> None:
        """Make it this checkpoint's, whosever it was."""
        for mark in self.path.glob(f"{OWNER}*"):
            mark.unlink()
        self._mark = f"{OWNER}{checkpoint}"
        (self.path / self._mark).touch()

    def check(self) -> None:
        """Raise if another run has made it its own, where no lock keeps it from that."""
        if self._lock is None and self._mark and not (self.path / self._mark).exists():
            raise HostError(
                f"another run has taken over `{self.path}` for its own results",
                hint="stop that one, or name another directory after INTO",
            )

    @property
    def has_results(self) -> bool:
        return any(self.path.glob("part-*"))

    def remove_unfinished(self) -> None:
        """Remove files that a run was writing when it was killed."""
        for file in self.path.glob(".part-*"):
            with suppress(OSError):
                file.unlink()

    def leave(self) -> None:
        """Say that it will be released: by a query that was dropped, after its last batch."""
        if self._lock is not None:
            _LEFT.setdefault(str(self.path), threading.Event())

    def release(self) -> None:
        """Let others write."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None
            if (left := _LEFT.pop(str(self.path), None)) is not None:
                left.set()


def has_writer(path: StoragePath) -> HostError:
    """A directory that another run has."""
    return HostError(
        f"another run is writing its results into `{path}`",
        hint="stop that one first, or name another directory after INTO",
    )


def unwritable(path: StoragePath, why: str) -> HostError:
    """A directory that cannot be written."""
    return HostError(
        f"cannot write results to `{path}`: {why}", hint="name another directory after INTO"
    )


def has_results_of_nobody(path: str) -> HostError:
    """A directory that holds results of a run that cannot be continued."""
    return HostError(
        f"`{path}` holds results already, and there is no checkpoint to continue",
        hint="name another directory after INTO, or remove this one",
    )
