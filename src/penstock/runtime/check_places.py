"""Sinks must not write over each other's files, nor into what is read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache

from penstock.catalog.catalog import Catalog
from penstock.errors import DuplicateName, NotExecutable
from penstock.io.sinks.registry import SINKS
from penstock.io.sources.registry import names_files
from penstock.io.storage.places import would_read
from penstock.io.storage.storage_path import resolved_place
from penstock.model.streams import Origin, Sink, Stream


def check_place(catalog: Catalog, name: str, sink: Sink, streams: Iterable[Stream]) -> None:
    """Refuse a sink that would write over another one's files, or into its own streams."""
    for stream in streams:
        if _is_read(stream.origin, sink):
            raise NotExecutable(
                f"stream `{stream.name}` reads from `{sink.path}`: results written there would be "
                "read as rows",
                hint=f"name a place after INTO that is not in {stream.origin}",
            )
    place = _directory(sink)
    if place is None:
        return
    mine, here = resolved_place(place), os.getcwd()
    others = [(entry.kind, entry.name, entry.sink) for entry in catalog.queries]
    others += [(entry.kind, entry.name, entry.late) for entry in catalog.streams]
    for kind, other, into in others:
        taken = None if into is None else _directory(into)
        if taken is None or other.lower() == name.lower():
            continue
        if _known_place(taken, here) == mine:
            raise DuplicateName(
                f"{kind} `{other}` writes into `{sink.path}` already",
                hint="name another directory after INTO",
            )


@lru_cache(maxsize=1 << 14)
def _known_place(path: str, here: str) -> str:
    """Where a path leads from `here`, the current directory.

    Asked once: every query that is declared is compared with all that were before it.
    """
    return resolved_place(path)


def _directory(sink: Sink) -> str | None:
    """Where a sink's files lie; None: it has none. Of a format of Spark's, its path counts."""
    if sink.format not in SINKS:
        return sink.path
    folder = SINKS[sink.format].folder(sink)
    return None if folder is None else str(folder)


def _is_read(origin: Origin, sink: Sink) -> bool:
    """Whether what goes into a sink would come back as rows."""
    if origin.path is None or sink.path is None:
        return False
    if origin.format == sink.format and sink.format in SINKS:
        kind = SINKS[sink.format]
        return kind.place(origin) == kind.place(sink)
    place = _directory(sink)
    return place is not None and names_files(origin) and would_read(origin.path, place)
