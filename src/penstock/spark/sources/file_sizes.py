"""How much there is to read of streams that are files, and how much of it in one micro-batch.

A batch takes all files that have come since the last one, so batches grow while a query falls
behind, which makes it faster, and shrink when it has caught up. What bounds them is memory: a
backlog of any size is read in batches of `largest_batch` bytes, unless the stream says how many.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from penstock.io.sources.file_source import FileSource
from penstock.io.sources.registry import names_files, source_of
from penstock.io.storage.storage_path import is_of_this_machine, local_path
from penstock.model.streams import Stream

#: Bytes that one core reads sooner than two have been got to work.
SMALL = 16 << 20

#: Options that limit a batch.
LIMITS = ("maxfilespertrigger", "maxbytespertrigger")
#: Which part of the machine's memory a batch has in files: rows take several times as much as they
#: do in compressed files, and are there several times while they are computed with.
_PART, _LEAST = 32, 64 << 20


def largest_batch() -> int:
    """Bytes of files that one batch reads at the most."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(_LEAST, memory // _PART)


def is_read_at_once(stream: Stream) -> bool:
    """Whether the first batch takes all files that are there."""
    is_limited = any(name in stream.origin.lowercase_options for name in LIMITS)
    if is_limited or not isinstance(source_of(stream.origin), FileSource):
        return False
    size = size_of(stream)
    return size is not None and size <= largest_batch()


def are_small(streams: Iterable[Stream]) -> bool:
    """Whether all streams are files of this machine, read at once, and small together."""
    streams = list(streams)
    if not all(map(is_read_at_once, streams)):
        return False
    return sum(size_of(stream) or 0 for stream in streams) <= SMALL


def size_of(stream: Stream) -> int | None:
    """Bytes of the files that are there now; None: they are not of this machine."""
    text = stream.origin.path or ""
    if not text or not is_of_this_machine(text):
        return None
    path = local_path(text)
    places = [path] if path.exists() else list(map(Path, glob.glob(str(path))))
    files = (file for place in places for file in _files(place))
    return sum(file.stat().st_size for file in files) if places else None


def places_of(streams: Iterable[Stream]) -> list[Path]:
    """The directories and files of this machine that streams are read from."""
    paths = [stream.origin.path or "" for stream in streams if names_files(stream.origin)]
    places = (local_path(path).absolute() for path in paths if is_of_this_machine(path))
    return [place for place in places if place.exists()]


def _files(place: Path) -> Iterator[Path]:
    return filter(Path.is_file, place.rglob("*") if place.is_dir() else [place])
