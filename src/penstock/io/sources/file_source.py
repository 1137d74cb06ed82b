"""FROM parquet, csv, json, orc, text: the files of a directory.

Spark's tasks read most of the first three by the readers of this process
(`spark/sources/direct_files.py`), and Spark itself reads the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.errors import NotExecutable
from penstock.io.files import FileBlock, check_options, read_blocks
from penstock.io.sources.source_kind import SourceKind
from penstock.io.unreadable import skips_unreadable
from penstock.model.streams import Stream


@dataclass(frozen=True)
class FileSource(SourceKind):
    """One format of files; `is_local`: this process can read it, too."""

    is_local: bool = True
    has_files = True

    def check(self, stream: Stream) -> None:
        skips_unreadable(stream)

    def is_finite(self, stream: Stream) -> bool:
        return True

    def blocks(self, stream: Stream, rows: int) -> Iterator[FileBlock]:
        if stream.origin.path is None:
            raise NotExecutable(
                f"stream `{stream.name}`: FROM {stream.origin.format} needs a path",
                hint=f"FROM {stream.origin.format} 'a directory of files'",
            )
        check_options(stream)
        return read_blocks(stream, rows)
