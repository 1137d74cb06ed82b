"""Sealed files: what we write for ourselves, and must find again as it was.

A sealed file is JSON, with a digest of its content beside it. It is written whole or not at all,
for nobody but its owner to read; one that was changed since is refused, because what is computed
from it would be wrong and nobody would see it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import polars as pl

from penstock.errors import HostError
from penstock.io.storage.hadoop_path import HadoopPath
from penstock.io.storage.storage_path import StoragePath

#: Up to so many characters it is laid out for people to read.
READABLE = 1 << 14

#: Only its owner reads and writes it; the second is for folders.
PRIVATE = 0o600
PRIVATE_FOLDER = 0o700

#: What can always be done about files of ours that cannot be used, and what else can be at times.
START_OVER = "start over with another checkpoint and another directory for the results"
START_ANEW = f"put it back as it was, or {START_OVER}"


#: What writing a file fails with; Polars wraps some of the former.
FAILURES = (OSError, pl.exceptions.ComputeError)


def digest_of(data: bytes) -> str:
    """A short name for these bytes and no others."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def digest_of_file(file: Path) -> str:
    """The same of a file's content, which may be large."""
    found = hashlib.blake2b(digest_size=16)
    with file.open("rb") as content:
        while part := content.read(1 << 20):
            found.update(part)
    return found.hexdigest()


def write_sealed(file: StoragePath, content: object) -> None:
    """Write a file that `read_sealed` gives the content of."""
    sealed = {"digest": _seal(content), "content": content}
    text = json.dumps(sealed)
    if len(text) <= READABLE:
        text = json.dumps(sealed, indent=2)  # which takes ten times as long
    write_private(file, text.encode())


def read_sealed(file: StoragePath) -> Any:
    """The content that was written; raises unless it is exactly that."""
    try:
        sealed = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as cause:
        raise HostError(f"`{file}` cannot be read: {cause}", hint=START_ANEW) from cause
    if not isinstance(sealed, dict) or not {"digest", "content"} <= sealed.keys():
        raise HostError(
            f"`{file}` was written by something else: it has no digest", hint=START_ANEW
        )
    if sealed["digest"] != _seal(sealed["content"]):
        raise HostError(
            f"`{file}` was changed since it was written: its content does not match its digest",
            hint=START_ANEW,
        )
    return sealed["content"]


def write_private(file: StoragePath, data: bytes) -> None:
    """Write a file in one piece, for its owner only; in a store, for those who may read there."""
    failure, remedy = f"cannot write `{file}`", "free some disk space"
    if isinstance(file, HadoopPath):
        with _told(failure, remedy):
            file.write_whole(data)
        return
    with whole(file, failure, remedy) as hidden:
        handle = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())


@contextmanager
def whole(file: StoragePath, failure: str, remedy: str) -> Iterator[Path]:
    """A file of this machine to write to; it becomes the file when that is done, or is removed."""
    hidden = file.with_name(f".{file.name}")
    with or_removed(hidden, failure, remedy):
        with written(hidden) as local:
            yield local
        hidden.replace(file)


@contextmanager
def written(file: StoragePath) -> Iterator[Path]:
    """A file of this machine to write to; one of a store is copied there when that is done."""
    if isinstance(file, HadoopPath):
        with file.written() as local:
            yield local
    else:
        assert isinstance(file, Path)
        yield file


@contextmanager
def or_removed(file: StoragePath, failure: str, remedy: str) -> Iterator[None]:
    """A file that cannot be written is removed, and the error says what to do."""
    with _told(failure, remedy):
        try:
            yield
        except FAILURES:
            with suppress(OSError):
                file.unlink(missing_ok=True)
            raise


@contextmanager
def _told(failure: str, remedy: str) -> Iterator[None]:
    try:
        yield
    except FAILURES as cause:
        hint = f"{remedy}; no row that was read is lost"
        raise HostError(f"{failure}: {cause}", hint=hint) from cause


def _seal(content: object) -> str:
    # In the order given: it means something.
    return digest_of(json.dumps(content).encode())
