"""StoragePath: a place of files, on this machine or wherever Spark's file systems reach.

    out/talkers, file:///data/in        a path of this machine: `pathlib.Path`
    hdfs:///data/in, s3a://bucket/in    a URI: `HadoopPath`, through Spark

Both have the few methods of `pathlib.Path` that stand here, and nothing else is used of either by
whoever must be able to work with both.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from penstock.errors import HostError, NotExecutable
from penstock.io.storage.hadoop_path import HadoopPath

#: How a URI begins; a path of this machine with such a beginning is written `./a:/b`.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=/)")


class FileFacts(Protocol):
    """What a file system says of a file."""

    @property
    def st_size(self) -> int: ...

    @property
    def st_mtime(self) -> float: ...

    @property
    def st_mtime_ns(self) -> int: ...


class StoragePath(Protocol):
    """What paths and URIs have in common."""

    @property
    def name(self) -> str: ...

    @property
    def stem(self) -> str: ...

    @property
    def parent(self) -> StoragePath: ...

    def __truediv__(self, name: str) -> StoragePath: ...

    def with_name(self, name: str) -> StoragePath: ...

    def resolve(self) -> StoragePath: ...

    def exists(self) -> bool: ...

    def is_dir(self) -> bool: ...

    def is_file(self) -> bool: ...

    def stat(self) -> FileFacts: ...

    def iterdir(self) -> Iterator[Any]: ...

    def glob(self, pattern: str) -> Iterator[Any]: ...

    def read_bytes(self) -> bytes: ...

    def read_text(self) -> str: ...

    def touch(self) -> None: ...

    def mkdir(self, mode: int = ..., parents: bool = ..., exist_ok: bool = ...) -> None: ...

    def rename(self, target: Any) -> Any: ...

    def replace(self, target: Any) -> Any: ...

    def unlink(self, missing_ok: bool = ...) -> None: ...


def storage_path(text: str | Path) -> StoragePath:
    """The place that a path or a URI names.

    >>> storage_path("file:/data/in"), storage_path("out/a")
    (PosixPath('/data/in'), PosixPath('out/a'))
    >>> storage_path("hdfs://host/data") / "in"
    HadoopPath('hdfs://host/data/in')
    """
    if isinstance(text, str) and not is_of_this_machine(text):
        return HadoopPath(text)
    return local_path(str(text))


def is_of_this_machine(text: str) -> bool:
    """Whether a path or URI names files of the machine that opens it.

    >>> [is_of_this_machine(text) for text in ("a/b", "file:///a", "s3a://b/a", "hdfs:/a", "a:b")]
    [True, True, False, False, True]
    """
    scheme = _SCHEME.match(text)
    return scheme is None or scheme[1].lower() == "file"


def local_path(text: str) -> Path:
    """A path as this machine knows it.

    >>> local_path("file:///data/in"), local_path("data/in")
    (PosixPath('/data/in'), PosixPath('data/in'))
    """
    if _SCHEME.match(text) is not None and is_of_this_machine(text):
        text = "/" + text.partition(":")[2].lstrip("/")
    return Path(text)


def check_of_this_machine(text: str) -> None:
    """Refuse a URI where only paths of this machine can be opened."""
    if not is_of_this_machine(text):
        raise NotExecutable(
            f"`{text}` is not on this machine, and is reached only through Spark",
            hint="run the query on Spark, or name a path of this machine",
        )


def way_from(start: StoragePath, place: StoragePath) -> str:
    """The way from one place to another, if both are on this machine; else where that other is.

    >>> way_from(Path("/a/b"), Path("/a/c")), way_from(Path("/a"), HadoopPath("hdfs://h/c"))
    ('../c', 'hdfs://h/c')
    """
    if isinstance(start, Path) and isinstance(place, Path):
        return os.path.relpath(place.resolve(), start.resolve())
    return str(place.resolve())


def along(start: StoragePath, way: str) -> StoragePath:
    """Where a way leads that begins at a place.

    >>> along(Path("/a/b"), "../c"), along(Path("/a"), "hdfs://h/c")
    (PosixPath('/a/c'), HadoopPath('hdfs://h/c'))
    """
    if isinstance(start, Path) and is_of_this_machine(way):
        return Path(os.path.normpath(start.resolve() / way))
    return storage_path(way)


@contextmanager
def at_hand(text: str) -> Iterator[str]:
    """A file or directory on this machine: the one that is named, or a copy of it for a while."""
    place = storage_path(text)
    if not isinstance(place, HadoopPath):
        yield text
        return
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        try:
            copy = place.fetched(Path(folder))
        except OSError as cause:
            hint = "name a file, or a directory of files, that can be read"
            raise HostError(f"cannot read `{text}`: {cause}", hint=hint) from cause
        yield str(copy)


def resolved_place(path: str) -> str:
    """A path as it is written for one directory, however it was given.

    >>> resolved_place("a/../b") == resolved_place("./b"), resolved_place("s3a://x/b/")
    (True, 's3a://x/b')
    """
    return str(storage_path(path).resolve())
