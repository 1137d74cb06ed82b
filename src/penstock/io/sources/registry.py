"""The formats of this room, by the word after FROM."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.io.files import FileBlock
from penstock.io.sources import redis_entries
from penstock.model.streams import Stream

#: What reads all rows that are there now, some at a time.
SOURCES: dict[str, Callable[[Stream, int], Iterator[FileBlock]]] = {
    redis_entries.FORMAT: redis_entries.read_blocks,
}
