"""Files of a directory that are not read for their names.

A name that begins with `_` or `.` says that a file is none of the data, or not ready yet. Spark
passes over such files, and so do we in this process.
"""

from __future__ import annotations

from pathlib import Path


def is_hidden(file: Path) -> bool:
    """Whether a file's name says that it is not to be read."""
    return file.name.startswith((".", "_"))


def files_of_format(folder: Path, format: str) -> list[Path]:
    """The files of a folder that are named as files of a format are; JSON also as `.jsonl`."""
    return [f for f in folder.iterdir() if f.suffix in (f".{format}", f".{format}l")]


def passed_over(path: str, format: str) -> list[str]:
    """The names of files that would be read, were they not hidden."""
    place = Path(path)
    found = files_of_format(place, format) if place.is_dir() else []
    return sorted(file.name for file in found if is_hidden(file))
