"""Sealed files: what we write for ourselves, and must find again as it was.

A sealed file is JSON, with a digest of its content beside it. It is written whole or not at all,
for nobody but its owner to read; one that was changed since is refused, because what is computed
from it would be wrong and nobody would see it.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.errors import HostError

FORMAT = 1

#: Only its owner reads and writes it; the second is for folders.
PRIVATE = 0o600
PRIVATE_FOLDER = 0o700

START_ANEW = (
    "put it back as it was, or start over with another checkpoint and another directory for the "
    "results"
)


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
            hint="continue with the release that wrote it, or start over with another checkpoint "
            "and another directory for the results",
        )
    if sealed["format"] != FORMAT:
        raise HostError(
            f"`{file}` is of format {sealed['format']}, and this release writes {FORMAT}",
            hint="continue with the release that wrote it, or start over with another checkpoint "
            "and another directory for the results",
        )
    if sealed["digest"] != _seal(sealed["content"]):
        raise HostError(
            f"`{file}` was changed since it was written: its content does not match its digest",
            hint=START_ANEW,
        )
    return sealed["content"]


def write_private(file: Path, data: bytes) -> None:
    """Write a file in one piece, for its owner only."""
    hidden = file.with_name(f".{file.name}.new")
    try:
        handle = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        hidden.replace(file)
    except OSError as cause:
        with suppress(OSError):
            hidden.unlink(missing_ok=True)
        raise HostError(
            f"cannot write `{file}`: {cause}",
            hint="free some disk space; no row that was read is lost",
        ) from cause


def _seal(content: object) -> str:
    # In the order given: it means something.
    return digest_of(json.dumps(content).encode())
