"""Sinks must not write over each other's files, nor into what is read."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.catalog.catalog import Catalog
from penstock.errors import DuplicateName, NotExecutable
from penstock.io.results import same_place
from penstock.io.storage.places import would_read
from penstock.model.streams import Stream
from penstock.sql.parse.statements import Sink


def check_place(catalog: Catalog, name: str, sink: Sink, streams: Iterable[Stream]) -> None:
    """Refuse a sink that would write over another one's files, or into its own streams."""
    if sink.path is None:
        return
    for stream in streams:
        source = stream.origin.path
        is_path = source is not None and stream.origin.format != "workload"
        if is_path and would_read(str(source), sink.path):
            raise NotExecutable(
                f"stream `{stream.name}` reads from `{sink.path}`: results written there would be "
                "read as rows",
                hint=f"name a directory after INTO that is not in `{source}`",
            )
    others = [(entry.kind, entry.name, entry.sink) for entry in catalog.queries]
    others += [(entry.kind, entry.name, entry.late) for entry in catalog.streams]
    for kind, other, taken in others:
        if taken is None or taken.path is None or other.lower() == name.lower():
            continue
        if same_place(taken.path, sink.path):
            raise DuplicateName(
                f"{kind} `{other}` writes into `{sink.path}` already",
                hint="name another directory after INTO",
            )
