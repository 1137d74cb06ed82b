"""UnreadableLog: which files were skipped because they cannot be read, in the checkpoint.

    unreadable/batch.json    the last batch, and what was decided about its files
    unreadable/files.json    what was skipped before it, and has not been read since

What is decided is written before the batch is computed, and a batch that is repeated finds it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock.checkpoint.layout import Layout
from penstock.io.storage.sealed import PRIVATE_FOLDER, read_sealed, write_sealed
from penstock.io.storage.storage_path import StoragePath
from penstock.spark.faults import reach, step
from penstock.spark.state.source_logs import place_of

#: What a file was when it was tried: whatever makes another of it changes one of these.
Signature: TypeAlias = list[int] | None


@dataclass(frozen=True)
class SkippedFile:
    """A file as Spark's log of its source names it, why it was skipped, and what it was then."""

    path: str
    reason: str
    signature: Signature

    @property
    def name(self) -> str:
        """The file as tasks name it."""
        return name_of(self.path)

    @property
    def has_changed(self) -> bool:
        return signature_of(self.name) != self.signature


Skipped: TypeAlias = dict[str, dict[str, SkippedFile]]
"""By stream and path."""


class UnreadableLog:
    """The files of one checkpoint that are skipped."""

    def __init__(self, checkpoint: StoragePath) -> None:
        self._files = Layout(checkpoint).unreadable
        self._batch = -1
        self._before: Skipped = {}
        self._skipped: Skipped = {}
        self._read: Skipped = {}
        files, batch = self._files.files, self._files.batch
        if files.exists():
            self._before = _from_json(read_sealed(files))
        if batch.exists():
            content = read_sealed(batch)
            self._batch = content["batch"]
            self._skipped = _from_json(content["skipped"])
            self._read = _from_json(content["read"])

    @property
    def was_used(self) -> bool:
        """Whether files may have been skipped, and read later."""
        return self._batch >= 0

    def now(self) -> Skipped:
        """What is skipped after the last batch."""
        found: Skipped = {}
        for name in self._before.keys() | self._skipped.keys():
            read = self._read.get(name, {})
            before = {p: e for p, e in self._before.get(name, {}).items() if p not in read}
            found[name] = before | self._skipped.get(name, {})
        return found

    def of(self, batch: int) -> Skipped | None:
        """What a batch skips; None: it is not decided."""
        return self._skipped if batch == self._batch else None

    def write(self, batch: int, skipped: Skipped, read: Skipped) -> None:
        """Note what a batch skips, and what it reads that was skipped before."""
        before = self.now()
        reach("unreadable.begin")
        self._files.folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        if before != self._before:
            for _ in step("unreadable.files"):
                write_sealed(self._files.files, _as_json(before))
        for _ in step("unreadable.batch"):
            content = {"batch": batch, "skipped": _as_json(skipped), "read": _as_json(read)}
            write_sealed(self._files.batch, content)
        reach("unreadable.written")
        self._batch, self._before, self._skipped, self._read = batch, before, skipped, read


def listed(skipped: Skipped) -> dict[str, dict[str, str]]:
    """By stream, files and why each is skipped."""
    return {name: {each.name: each.reason for each in of.values()} for name, of in skipped.items()}


def name_of(path: str) -> str:
    """A file of Spark's log as tasks name it."""
    return "/".join(place_of({"path": path}))


def signature_of(file: str) -> Signature:
    """Also of rights, which change nothing but the last of these."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _as_json(skipped: Skipped) -> dict[str, Any]:
    return {
        name: {each.path: [each.reason, each.signature] for each in of.values()}
        for name, of in skipped.items()
    }


def _from_json(content: Mapping[str, Mapping[str, Any]]) -> Skipped:
    return {
        name: {path: SkippedFile(path, *facts) for path, facts in of.items()}
        for name, of in content.items()
    }
