"""Spark's own files in a checkpoint: whether they are all there before Spark is let at them.

    offsets/N       what batch N reads; written before it runs
    commits/N       batch N is over
    metadata        the query's id
    sources/S/N     which files the source S has handed out, if it reads files
    state/…         kept by version; Spark asks for each file by its name

What stands in a file is under a checksum of Hadoop's file system, which Spark checks when it reads
the file. A file that is missing is another matter: Spark takes an older log for the newest, and
reads rows again, or passes over them, without a word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise

from penstock.checkpoint.layout import COMPACT, SparkLayout
from penstock.errors import HostError
from penstock.io.storage.sealed import START_OVER
from penstock.io.storage.storage_path import StoragePath

DAMAGED = (
    f"put back the whole checkpoint and the results from a copy of the same moment, or {START_OVER}"
)

#: How an entry of a log begins.
_VERSION = re.compile(r"v\d+")
#: How far a source is that reads files.
_LOG_OFFSET = re.compile(r'\s*\{\s*"logOffset"\s*:\s*(\d+)\s*\}\s*')


def is_unused(folder: StoragePath) -> bool:
    """Whether no batch was ever begun here."""
    return not (SparkLayout(folder).offsets.exists() or _numbers(SparkLayout(folder).commits))


def last_finished(folder: StoragePath) -> int:
    """The last batch that is over, -1 if none is; raises if a log misses something."""
    files = SparkLayout(folder)
    offsets, commits = _numbers(files.offsets), _numbers(files.commits)
    for log, numbers in ((files.offsets, offsets), (files.commits, commits)):
        _check_without_gaps(log, numbers)
    begun, finished = max(offsets, default=-1), max(commits, default=-1)
    if finished > begun:
        raise damaged(files.offset(finished), "is gone")
    if finished < begun - 1:
        raise damaged(files.commit(begun - 1), "is gone")
    if begun >= 0:
        _check_metadata(files.metadata)
        _check_lines(files.offset(begun))
        if finished >= 0:
            _check_lines(files.commit(finished))
        _check_state(files.state)
        _check_sources(folder, begun)
    return finished


def last_begun(folder: StoragePath) -> int:
    """The last batch that has begun, -1 if none has."""
    return max(_numbers(SparkLayout(folder).offsets), default=-1)


def is_over(folder: StoragePath, batch: int) -> bool:
    """Whether a batch is over that is one of the last; Spark forgets earlier ones."""
    return SparkLayout(folder).commit(batch).exists()


def damaged(file: StoragePath, how: str) -> HostError:
    """What is to be said of a file of the checkpoint that cannot be used."""
    return HostError(f"the checkpoint is damaged: `{file}` {how}", hint=DAMAGED)


def _check_metadata(file: StoragePath) -> None:
    """The query's id: Spark says so where there is none, and trips over half of one."""
    try:
        is_one = "id" in json.loads(file.read_bytes())
    except FileNotFoundError:
        return
    except (OSError, ValueError, TypeError) as cause:
        raise damaged(file, f"cannot be read: {cause}") from cause
    if not is_one:
        raise damaged(file, "has no id")


def _check_state(folder: StoragePath) -> None:
    """What describes the state: of an empty file Spark only says that something failed."""
    for kind in ("_metadata", "_stateSchema"):
        for operator in folder.glob("*"):
            for file in _files_below(operator / kind):
                if not file.name.startswith(".") and not file.stat().st_size:
                    raise damaged(file, "is empty")


def _files_below(folder: StoragePath) -> Iterator[StoragePath]:
    for place in folder.glob("*"):
        if place.is_dir():
            yield from _files_below(place)
        else:
            yield place


def _check_sources(folder: StoragePath, batch: int) -> None:
    """Sources that read files log every batch of them; offsets count the entries of that log."""
    for source, offset in log_offsets(folder, batch).items():
        place = SparkLayout(folder).source(source)
        numbers = _numbers(place)
        if offset not in numbers:
            raise damaged(place / str(offset), "is gone")
        _check_without_gaps(place, numbers)
        names = {file.name for file in place.iterdir()}
        whole = [number for number in numbers if f"{number}{COMPACT}" in names]
        for number in numbers[numbers.index(whole[-1]) :] if whole else numbers:
            # Spark reads the latest list of all files, and what came behind it.
            _check_lines(place / (f"{number}{COMPACT}" if number in whole else str(number)))


def _check_lines(file: StoragePath) -> None:
    """An entry of a log is its version, and lines of JSON; Spark names no file that is not."""
    try:
        version, *lines = file.read_bytes().decode().split("\n")
        for line in lines:
            if line.strip() not in ("", "-"):  # a source that has read nothing
                json.loads(line)
        is_whole = _VERSION.fullmatch(version) is not None
    except (OSError, ValueError, RecursionError) as cause:
        raise damaged(file, f"cannot be read: {cause}") from cause
    if not is_whole:
        raise damaged(file, "does not begin with the version of a log")


def log_offsets(folder: StoragePath, batch: int) -> dict[int, int]:
    """By number of a source that reads files, how far its log goes in a batch."""
    file = SparkLayout(folder).offset(batch)
    try:
        lines = file.read_text().splitlines()[2:]
    except (OSError, ValueError) as cause:
        raise damaged(file, f"cannot be read: {cause}") from cause
    found = ((source, _LOG_OFFSET.fullmatch(line)) for source, line in enumerate(lines))
    # Others are "-", or a source's own words.
    return {source: int(offset[1]) for source, offset in found if offset is not None}


def batch_time(folder: StoragePath, batch: int) -> int:
    """What the clock showed when a batch began, in ticks: a batch that is repeated has the same."""
    file = SparkLayout(folder).offset(batch)
    try:
        _, metadata = file.read_text().splitlines()[:2]
        return int(json.loads(metadata)["batchTimestampMs"]) * 1000
    except (OSError, ValueError, LookupError, TypeError) as cause:
        raise damaged(file, f"cannot be read: {cause}") from cause


def _numbers(folder: StoragePath) -> list[int]:
    """The numbers of a log's entries; an entry `9.compact` holds all before it as well."""
    try:
        names = [file.name.removesuffix(COMPACT) for file in folder.iterdir()]
    except FileNotFoundError:
        return []
    except OSError as cause:
        raise damaged(folder, f"cannot be read: {cause}") from cause
    return sorted(int(name) for name in names if name.isdecimal())


def _check_without_gaps(folder: StoragePath, numbers: list[int]) -> None:
    """Spark forgets the oldest entries of a log, and never one between two others."""
    for one, next_one in pairwise(numbers):
        if next_one > one + 1:
            raise damaged(folder / str(one + 1), "is gone")
