"""A reader of directories that others write results to: whatever it sees must be whole.

It looks at all files again and again, as whoever uses the results would. A batch may be repeated,
and its file replaced, so a file may be seen several times: it must hold the same rows whenever it
is seen, those that it holds in the end. Only the file of a batch that never came to its end, and
was repeated without the query, may be gone then.
"""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl

#: Seconds between two looks.
PAUSE = 0.02

Rows = tuple[tuple[Any, ...], ...]


class PollingReader:
    """Reads parquet files in the folders of a folder, in a thread of its own, until it is left."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._known: dict[Path, tuple[int, int, int]] = {}
        #: All that was seen of each file.
        self.seen: dict[Path, set[Rows]] = {}
        self.failures: list[str] = []

    def __enter__(self) -> PollingReader:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: object, trace: TracebackType | None
    ) -> None:
        self._left.set()
        self._thread.join()

    def _poll(self) -> None:
        while not self._left.wait(PAUSE):
            for file in self._folder.glob("*/part-*.parquet"):
                self._look(file)

    def _look(self, file: Path) -> None:
        try:
            now = file.stat()
            version = (now.st_ino, now.st_mtime_ns, now.st_size)
            if self._known.get(file) != version:
                self.seen.setdefault(file, set()).add(rows_in(file))
                self._known[file] = version
        except FileNotFoundError:
            pass  # it was removed between two calls
        except Exception as broken:  # whatever a reader of a half of a file raises
            self.failures.append(f"{file}: {broken}")

    def partial(self) -> list[str]:
        """The files that were not whole at some time, as can be told when all is over."""
        found = list(self.failures)
        for file, contents in self.seen.items():
            if file.exists() and contents != {rows_in(file)}:
                found.append(f"{file}: {len(contents)} contents")
        return found


def rows_in(file: Path) -> Rows:
    """The rows of a file, in an order that does not depend on how they were written."""
    return tuple(sorted(pl.read_parquet(file).rows(), key=repr))
