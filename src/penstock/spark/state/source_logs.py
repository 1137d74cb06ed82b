"""Spark's lists of the files that it has read, without those that nobody can ask for again.

    spark/offsets/N               what batch N reads: for a source of files, a number of its log
    spark/sources/S/119.compact   `v1`, and a line for every file that S has handed out so far

Spark writes such a list anew every ten batches, with all files since the beginning, and reads it at
a start, to know which files of a folder are new. A pipeline that runs for weeks would spend its
time on that. So lines go of files that cannot come again: those of our own folders that are
deleted, and in a stream that declares Spark's `maxFileAge` those that are older than the newest by
more than that, which Spark does not look at anyway.

A list is replaced while Spark waits for us to deliver a batch, and in one piece.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from penstock.checkpoint.layout import COMPACT, SparkLayout
from penstock.io.storage.sealed import write_private
from penstock.io.storage.storage_path import StoragePath
from penstock.spark.state.spark_files import log_offsets

#: A line of a list: `path`, `timestamp`, `batchId`.
Line = Mapping[str, Any]

#: Checksums of Hadoop's local files: one for so many bytes.
_CHUNK = 512
_UNITS = {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000}


@dataclass(frozen=True)
class SourceLog:
    """The list of one source, of files that belong to batches which are over."""

    folder: StoragePath
    name: str
    version: str
    lines: list[Line]

    def names(self, folder: str) -> set[str]:
        """The files of a folder that were read."""
        places = (place_of(line) for line in self.lines)
        return {name for place, name in places if place == folder}

    def shorten(self, is_needed: Callable[[Line], bool]) -> None:
        """Leave only lines that are needed."""
        left = [line for line in self.lines if is_needed(line)]
        if len(left) < len(self.lines):
            text = "\n".join([self.version, *(json.dumps(line) for line in left)])
            _replace(self.folder, self.name, text.encode())


def source_logs(spark: StoragePath, batch: int) -> list[SourceLog]:
    """The latest lists whose files all belong to batches up to one that is over."""
    found = []
    for source, offset in log_offsets(spark, batch).items():
        folder = SparkLayout(spark).source(source)
        numbers = [
            int(file.name.removesuffix(COMPACT))
            for file in folder.iterdir()
            if file.name.endswith(COMPACT) and file.name.removesuffix(COMPACT).isdecimal()
        ]
        last = max((number for number in numbers if number <= offset), default=None)
        if last is not None:
            name = f"{last}{COMPACT}"
            version, *texts = (folder / name).read_bytes().decode().split("\n")
            lines = [json.loads(text) for text in texts if text]
            found.append(SourceLog(folder, name, version, lines))
    return found


def place_of(line: Line) -> tuple[str, str]:
    """Folder and name of a file.

    >>> place_of({"path": "file:///data/a%20b/1.parquet"})
    ('/data/a b', '1.parquet')
    >>> place_of({"path": "s3a://bucket/data/1.parquet"})
    ('s3a://bucket/data', '1.parquet')
    """
    parts = urlsplit(line["path"])
    folder, _, name = unquote(parts.path).rpartition("/")
    return (folder if parts.scheme == "file" else f"{parts.scheme}://{parts.netloc}{folder}"), name


def milliseconds(age: str) -> float | None:
    """How long Spark's words for a time are; None: it is said in another way.

    >>> milliseconds("10m"), milliseconds("7d"), milliseconds("soon")
    (600000, 604800000, None)
    """
    found = re.fullmatch(r"\s*(\d+)\s*(us|ms|s|m|min|h|d)\s*", age.lower())
    return None if found is None else int(found[1]) * (_UNITS | {"d": 86_400_000})[found[2]]


def _replace(folder: StoragePath, name: str, data: bytes) -> None:
    """Write a file of Spark's anew, with its checksums where Hadoop keeps them beside it."""
    checksums = folder / f".{name}.crc"
    has_checksums = checksums.exists()
    # Without them a file is not checked; with those of the old one it would not be read.
    checksums.unlink(missing_ok=True)
    write_private(folder / name, data)
    if has_checksums and isinstance(checksums, Path):
        checksums.write_bytes(checksums_of(data))


def checksums_of(data: bytes) -> bytes:
    """What Hadoop's local file system writes beside a file."""
    parts = (data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK))
    sums = b"".join(struct.pack(">I", zlib.crc32(part)) for part in parts)
    return b"crc\0" + struct.pack(">I", _CHUNK) + sums
