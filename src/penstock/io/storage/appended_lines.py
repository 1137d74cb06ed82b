"""AppendedLines: a file that lines are added to, one piece after the other, each whole.

    results/query talkers               on this machine: one file
    results/query talkers/00000007      in a store, where files do not grow: one file for each piece

What was being written when the process was killed counts as not written: the end of a line that is
cut off is removed. In a store the last `MANY` pieces become one from time to time; the file of that
one replaces the last of them, and the others are removed after that, so that lines may be there
twice for a while, in the same order.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from penstock.io.storage.hadoop_path import HadoopPath
from penstock.io.storage.sealed import PRIVATE, PRIVATE_FOLDER, write_private
from penstock.io.storage.storage_path import StoragePath

#: So many pieces of a store become one.
MANY = 100


class AppendedLines(Protocol):
    """Lines that are kept; what fails raises OSError."""

    def read(self) -> bytes:
        """All whole lines."""

    def append(self, lines: bytes) -> None:
        """Add whole lines."""

    def rewrite(self, lines: bytes) -> None:
        """Have only these."""


def appended_lines(place: StoragePath) -> AppendedLines:
    if isinstance(place, HadoopPath):
        return LinesInStore(place)
    assert isinstance(place, Path)
    return LinesInFile(place)


class LinesInFile:
    """A file of this machine."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> bytes:
        data = self._file.read_bytes() if self._file.exists() else b""
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(self._file, whole)
        return data[:whole]

    def append(self, lines: bytes) -> None:
        handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE)
        with os.fdopen(handle, "ab", buffering=0) as out:
            before = out.seek(0, os.SEEK_END)
            try:
                if out.write(lines) != len(lines):
                    raise OSError("no space left for a whole line")
            except OSError:
                out.truncate(before)  # half a line would spoil the next one
                raise

    def rewrite(self, lines: bytes) -> None:
        write_private(self._file, lines)


class LinesInStore:
    """A folder of a store."""

    def __init__(self, folder: HadoopPath) -> None:
        self._folder = folder
        self._numbers: list[int] | None = None  # of the pieces there are, once they are known
        self._latest: list[bytes] = []  # those that were added here, and are not yet put together

    def read(self) -> bytes:
        return b"".join(self._file(number).read_bytes() for number in self._known())

    def append(self, lines: bytes) -> None:
        numbers = self._known()
        if not numbers:
            self._folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        number = max(numbers, default=-1) + 1
        self._file(number).write_whole(lines)
        numbers.append(number)
        self._latest.append(lines)
        if len(self._latest) == MANY:
            self._put_together()

    def rewrite(self, lines: bytes) -> None:
        self.append(lines)
        *before, _ = self._known()
        self._remove(before)
        self._latest = []

    def _put_together(self) -> None:
        *before, last = self._known()[-MANY:]
        self._file(last).write_whole(b"".join(self._latest))
        self._latest = []
        self._remove(before)

    def _remove(self, numbers: list[int]) -> None:
        for number in numbers:
            self._file(number).remove()
        self._numbers = [number for number in self._known() if number not in numbers]

    def _known(self) -> list[int]:
        if self._numbers is None:
            names = (file.name for file in self._folder.glob("*"))
            self._numbers = sorted(int(name) for name in names if name.isdecimal())
        return self._numbers

    def _file(self, number: int) -> HadoopPath:
        return self._folder / f"{number:08d}"
