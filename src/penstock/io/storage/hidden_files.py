"""Files of a directory that are not read.

A name that begins with `_` or `.` says that a file is none of the data, or not ready yet. Spark
passes over such files, and so do we in this process; and over files with nothing in them, which is
no parquet at all. (Of CSV and JSON such a file has no rows, and is read.)
"""

from __future__ import annotations

from pathlib import Path

from penstock.io.storage.storage_path import is_of_this_machine, local_path


def is_hidden(file: Path) -> bool:
    """Whether a file's name says that it is not to be read."""
    return file.name.startswith((".", "_"))


def files_of_format(folder: Path, format: str) -> list[Path]:
    """The files of a folder that are named as files of a format are; JSON also as `.jsonl`."""
    return [f for f in folder.iterdir() if f.suffix in (f".{format}", f".{format}l")]


def passed_over(path: str, format: str) -> list[str]:
    """Files that would be read, were they not hidden or empty, each with the reason."""
    place = local_path(path)
    is_there = is_of_this_machine(path) and place.is_dir()
    found = sorted(files_of_format(place, format)) if is_there else []
    hidden = [f"{file.name} (hidden)" for file in found if is_hidden(file)]
    return hidden + [
        f"{file.name} (empty)"
        for file in found
        if format == "parquet" and not is_hidden(file) and is_empty(file)
    ]


def is_empty(file: Path) -> bool:
    return file.stat().st_size == 0
