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

FORMAT = 2

#: Only its owner reads and writes it; the second is for folders.
PRIVATE = 0o600
PRIVATE_FOLDER = 0o700

#: What can always be done about files of ours that cannot be used, and what else can be at times.
START_OVER = "start over with another checkpoint and another directory for the results"
START_ANEW = f"put it back as it was, or {START_OVER}"
OTHER_RELEASE = f"continue with the release that wrote it, or {START_OVER}"


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


def write_sealed(file: Path, content: object) -> None:
    """Write a file that `read_sealed` gives the content of."""
    sealed = {"format": FORMAT, "digest": _seal(content), "content": content}
    write_private(file, json.dumps(sealed, indent=2).encode())


def read_sealed(file: Path) -> Any:
    """The content that was written; raises unless it is exactly that."""
    try:
        sealed = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as cause:
        raise HostError(f"`{file}` cannot be read: {cause}", hint=START_ANEW) from cause
    if not isinstance(sealed, dict) or not {"format", "digest", "content"} <= sealed.keys():
        raise HostError(
            f"`{file}` was written by an earlier release, or by something else: it has no digest",
            hint=OTHER_RELEASE,
        )
    if sealed["format"] != FORMAT:
        raise HostError(
            f"`{file}` is of format {sealed['format']}, and this release writes {FORMAT}",
            hint=OTHER_RELEASE,
        )
    if sealed["digest"] != _seal(sealed["content"]):
        raise HostError(
            f"`{file}` was changed since it was written: its content does not match its digest",
            hint=START_ANEW,
        )
    return sealed["content"]


def write_private(file: Path, data: bytes) -> None:
    """Write a file in one piece, for its owner only."""
    with whole(file, f"cannot write `{file}`", "free some disk space") as hidden:
        handle = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())


@contextmanager
def whole(file: Path, failure: str, remedy: str) -> Iterator[Path]:
    """A hidden file to write to: it gets its name when that is done, or is removed."""
    hidden = file.with_name(f".{file.name}")
    with or_removed(hidden, failure, remedy):
        yield hidden
        hidden.replace(file)


@contextmanager
def or_removed(file: Path, failure: str, remedy: str) -> Iterator[None]:
    """A file that cannot be written is removed, and the error says what to do."""
    try:
        yield
    except (OSError, pl.exceptions.ComputeError) as cause:  # Polars wraps some of the former
        with suppress(OSError):
            file.unlink(missing_ok=True)
        hint = f"{remedy}; no row that was read is lost"
        raise HostError(f"{failure}: {cause}", hint=hint) from cause


def _seal(content: object) -> str:
    # In the order given: it means something.
    return digest_of(json.dumps(content).encode())
