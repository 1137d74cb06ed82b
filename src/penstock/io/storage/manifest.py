"""Manifest: which files were written into a folder, and what they held.

    a1b2c3d4 [7, "part-00000007.parquet", 120, 2345, 1780000000000000000, "9f86d081…"]
    checksum [number, name, rows, bytes, when it was written, digest]

One line for each file, added when the file is there: what a batch costs follows what is new in it.
A later line about the same number stands for the earlier ones; one without a name says that there
is no such file any more. A line that is cut off at the end was being written when the process was
killed, and counts as not written.

`verify` asks the file system for the size and the time of every file. It reads those that were
touched since they were written, and the last few, which a dying machine is most likely to have
damaged; a folder of 100,000 files is so looked through without reading it again. What it cannot see
is an older file whose bytes were changed and whose size and time were put back.

Of what lies in a store, or was written on other machines, there is no digest: that would be to read
all of it here. Only its size is compared.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Collection, Iterable
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from penstock.errors import HostError
from penstock.io.storage.appended_lines import AppendedLines, appended_lines
from penstock.io.storage.hadoop_path import HadoopPath
from penstock.io.storage.sealed import START_ANEW, digest_of_file
from penstock.io.storage.storage_path import FileFacts, StoragePath
from penstock.model.counted import counted

#: Names of files, with what a store has said of them when it listed them: one question for all.
Listed: TypeAlias = dict[str, FileFacts | None]

#: Files at the end that are read whatever their size and time say.
LAST = 8


@dataclass(frozen=True)
class FileEntry:
    """One file of a folder."""

    number: int
    name: str
    rows: int
    size: int
    written: int  # nanoseconds since 1970, as the file system has it
    digest: str


class Manifest:
    """The list `file` of what lies in `folder` under names that `pattern` matches.

    The pattern's first group is the number of a file.
    """

    def __init__(self, file: StoragePath, folder: StoragePath, pattern: str) -> None:
        self.file = file
        self.folder = folder
        self._pattern = re.compile(pattern)

    @cached_property
    def _lines(self) -> AppendedLines:
        return appended_lines(self.file)

    def add(
        self,
        number: int,
        written: StoragePath,
        rows: int,
        name: str | None = None,
        *,
        is_near: bool = True,
    ) -> None:
        """Note a file that has just been written, or that is given its name next.

        One that is not near, for others have written it, is not read here.

        One that is given its name after it was noted is never read by anybody who does not find it
        noted; if that is cut off, `verify` gives it its name.
        """
        self._append([_entry(number, written, rows, name or written.name, is_near)])

    def read(self) -> dict[int, FileEntry]:
        """The files that should be there, by number; a line that was cut off is removed."""
        try:
            data = self._lines.read()
        except OSError as cause:
            raise HostError(f"`{self.file}` cannot be read: {cause}", hint=START_ANEW) from cause
        found: dict[int, FileEntry] = {}
        for place, line in enumerate(data.splitlines(), start=1):
            part = _read_line(line)
            if part is None:
                raise HostError(
                    f"`{self.file}` was changed since it was written: line {place} does not match "
                    "its checksum",
                    hint=START_ANEW,
                )
            found.pop(part.number, None)
            if part.name:
                found[part.number] = part
        return found

    def verify(self, through: int | None = None) -> dict[int, FileEntry]:
        """The files that should be there; raises unless they are, as they were written.

        Those numbered above `through` belong to something unfinished, which will write them again:
        they are removed.
        """
        parts = self.read()
        listed = self._listed()
        there = self._numbered(listed)
        if through is not None:
            self._remove_above(through, parts, there)
        for number, name in sorted(there.items()):
            if number not in parts:
                raise HostError(
                    f"`{self.folder / name}` is not listed in `{self.file}`, the list of written "
                    "files: one of the two was changed",
                    hint=START_ANEW,
                )
        last = sorted(parts)[-LAST:]
        touched = [self._check(part, part.number in last, listed) for part in parts.values()]
        anew = {part.number: part for part in touched if part is not None}
        if anew:
            # The same content with other times, as a copy has: read once, not at every start.
            parts |= anew
            self._lines.rewrite(b"".join(map(_line, parts.values())))
        return parts

    def forget(self, numbers: Collection[int]) -> None:
        """Remove files that nobody reads again, and their lines.

        They are hidden first, so that `verify` finds them where this is cut off: what is noted
        gets its name again, and what is not is nobody's.
        """
        parts = self.read()
        gone = [parts.pop(number) for number in numbers if number in parts]
        if not gone:
            return
        hidden = [self.folder / f".{part.name}" for part in gone]
        try:
            for part, file in zip(gone, hidden, strict=True):
                (self.folder / part.name).rename(file)
            self._lines.rewrite(b"".join(map(_line, parts.values())))
            for file in hidden:
                file.unlink()
        except OSError as cause:
            raise HostError(
                f"cannot delete files of `{self.folder}`: {cause}", hint=START_ANEW
            ) from cause

    def delete(self) -> None:
        """Have no list any more: nobody asks what was written."""
        if isinstance(self.file, Path):
            self.file.unlink(missing_ok=True)
        else:
            self._lines.rewrite(b"")

    def _check(self, part: FileEntry, is_last: bool, listed: Listed) -> FileEntry | None:
        """The part anew if its time is another one; raises if it is not what was written."""
        file = self.folder / part.name
        try:
            found = listed.get(part.name) or self._stat(part)
            if found.st_size != part.size:
                raise _changed(file, f"{found.st_size:,} bytes instead of {part.size:,}")
            if not part.digest or (found.st_mtime_ns == part.written and not is_last):
                return None
            if _digest(file) != part.digest:
                raise _changed(file, "its content differs")
        except FileNotFoundError:
            raise HostError(
                f"`{file}` is gone, with {counted(part.rows, 'row')}",
                hint=START_ANEW,
            ) from None
        except OSError as cause:
            raise HostError(f"`{file}` cannot be read: {cause}", hint=START_ANEW) from cause
        if found.st_mtime_ns == part.written:
            return None
        return replace(part, written=found.st_mtime_ns)

    def _stat(self, part: FileEntry) -> FileFacts:
        """What the file system says of a part; one that was noted and has no name yet gets it."""
        file, hidden = self.folder / part.name, self.folder / f".{part.name}"
        try:
            return file.stat()
        except FileNotFoundError:
            is_it = hidden.exists() and hidden.stat().st_size == part.size
            if is_it and _digest(hidden) == part.digest:
                hidden.rename(file)
            return file.stat()

    def _listed(self) -> Listed:
        """What lies in the folder, by name, and what a store says of it beside."""
        try:
            if isinstance(self.folder, HadoopPath):
                return dict(self.folder.listed())
            return {file.name: None for file in self.folder.iterdir()}
        except FileNotFoundError:
            return {}
        except OSError as cause:
            raise HostError(f"`{self.folder}` cannot be read: {cause}") from cause

    def _numbered(self, listed: Listed) -> dict[int, str]:
        """The names among them that are those of parts, by number."""
        found = ((self._pattern.fullmatch(name), name) for name in listed)
        return {int(match[1]): name for match, name in found if match is not None}

    def _remove_above(
        self, through: int, parts: dict[int, FileEntry], there: dict[int, str]
    ) -> None:
        for number in [number for number in there if number > through]:
            (self.folder / there.pop(number)).unlink(missing_ok=True)
        gone = [number for number in parts if number > through]
        for number in gone:
            del parts[number]
        self._append(FileEntry(number, "", 0, 0, 0, "") for number in gone)

    def _append(self, parts: Iterable[FileEntry]) -> None:
        lines = b"".join(map(_line, parts))
        if not lines:
            return
        try:
            self._lines.append(lines)
        except OSError as cause:
            raise HostError(
                f"cannot write `{self.file}`: {cause}",
                hint="free some disk space; no row that was read is lost",
            ) from cause


def _entry(number: int, file: StoragePath, rows: int, name: str, is_near: bool) -> FileEntry:
    """What a file holds now."""
    found = file.stat()
    digest = _digest(file) if is_near else ""
    return FileEntry(number, name, rows, found.st_size, found.st_mtime_ns, digest)


def _digest(file: StoragePath) -> str:
    """A digest of what a file holds; empty for one in a store."""
    return digest_of_file(file) if isinstance(file, Path) else ""


def _line(part: FileEntry) -> bytes:
    text = json.dumps(astuple(part)).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _read_line(line: bytes) -> FileEntry | None:
    """The part that a line tells of; None if it is not as it was written."""
    checksum, _, text = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    return FileEntry(*json.loads(text))


def _changed(file: StoragePath, how: str) -> HostError:
    return HostError(f"`{file}` was changed since it was written: {how}", hint=START_ANEW)
