"""A checkpoint must not lie where a stream is read from."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import HostError
from penstock.io.sources.registry import names_files
from penstock.io.storage.places import would_read
from penstock.io.storage.storage_path import StoragePath
from penstock.model.streams import Stream


def check_is_not_read(checkpoint: StoragePath | None, streams: Iterable[Stream]) -> None:
    """Refuse a checkpoint whose files would be read as rows."""
    for stream in streams:
        source = str(stream.origin.path)
        is_path = names_files(stream.origin)
        if checkpoint is not None and is_path and would_read(source, str(checkpoint)):
            raise HostError(
                f"stream `{stream.name}` reads from `{checkpoint}`, where the checkpoint would be",
                hint=f"name a checkpoint that is not in `{source}`",
            )
