"""Files of a directory that are not read.

A name that begins with `_` or `.` or ends in `.tmp` says that a file is none of the data, or not
ready yet: it is skipped, here and on Spark. So is a parquet file with nothing in it, which is no
parquet at all. (Of CSV and JSON such a file has no rows, and is read.) What is no regular file,
such as a named pipe, may have no end, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from penstock.errors import HostError
from penstock.io.storage.storage_path import is_of_this_machine, local_path

#: The same names for Spark, as a pattern of Java's.
HIDDEN = r"^[._]|(?i:\.tmp)$"


def is_hidden(file: Path) -> bool:
    """Whether a file's name says that it is not to be read."""
    return file.name.startswith((".", "_")) or file.suffix.lower() == ".tmp"


def files_of_format(folder: Path, format: str) -> list[Path]:
    """The files of a folder that are named as files of a format are; JSON also as `.jsonl`."""
    return [f for f in folder.iterdir() if f.suffix.lower() in (f".{format}", f".{format}l")]


def passed_over(path: str, format: str) -> list[str]:
    """Files that would be read, were they not hidden or empty, each with the reason."""
    place = local_path(path)
    is_there = is_of_this_machine(path) and place.is_dir()
    found = sorted(files_of_format(place, format)) if is_there else []
    unready = [f for f in place.iterdir() if _is_unready(f, format)] if is_there else []
    hidden = [f"{file.name} (hidden)" for file in found if is_hidden(file)]
    hidden += [f"{file.name} (not ready)" for file in sorted(unready)]
    return hidden + [
        f"{file.name} (empty)"
        for file in found
        if format == "parquet" and not is_hidden(file) and is_empty(file)
    ]


def _is_unready(file: Path, format: str) -> bool:
    """Whether a file would be read but for the `.tmp` behind its name."""
    before = Path(file.stem)
    return file.suffix.lower() == ".tmp" and before.suffix.lower() in (f".{format}", f".{format}l")


def is_empty(file: Path) -> bool:
    return file.stat().st_size == 0


def check_regular(files: Iterable[Path]) -> None:
    """Refuse what is there and neither a file nor a directory: reading it may never end."""
    for file in files:
        if file.exists() and not (file.is_file() or file.is_dir()):
            raise HostError(
                f"cannot read `{file}`: it is not a regular file",
                hint="move it elsewhere: a named pipe or a device may have no end",
            )
