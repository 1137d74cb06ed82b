"""The file of statements that a command is given."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import HostError


def read_script(file: Path) -> str:
    """The text of a file of SQL."""
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as cause:
        raise HostError(
            f"`{file}` is not UTF-8: byte {cause.start} cannot be read",
            hint=f"save it as UTF-8: iconv -f LATIN1 -t UTF-8 {file.name}",
        ) from cause
