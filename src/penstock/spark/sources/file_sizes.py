"""How much there is to read of streams that are files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from penstock.model.streams import Stream

FILE_FORMATS = ("parquet", "csv", "json", "orc", "text")

#: Bytes that one core reads sooner than two have been got to work.
SMALL = 16 << 20

_LIMITS = ("maxfilespertrigger", "maxbytespertrigger")


def is_read_at_once(stream: Stream) -> bool:
    """Whether the first batch takes all files that are there."""
    options = (name.lower() for name, _ in stream.origin.options)
    return stream.origin.format in FILE_FORMATS and not any(name in _LIMITS for name in options)


def are_small(streams: Iterable[Stream]) -> bool:
    """Whether all streams are files of this machine, read at once, and small together."""
    size = 0
    for stream in streams:
        path = stream.origin.path
        if path is None or not is_read_at_once(stream):
            return False
        place = Path(local_path(path))
        if not place.exists():
            return False
        files = place.rglob("*") if place.is_dir() else [place]
        size += sum(file.stat().st_size for file in files if file.is_file())
    return size <= SMALL


def local_path(path: str) -> str:
    """A path as this machine knows it.

    >>> local_path("file:///data/in"), local_path("data/in")
    ('/data/in', 'data/in')
    """
    return "/" + path.removeprefix("file:").lstrip("/") if path.startswith("file:") else path
