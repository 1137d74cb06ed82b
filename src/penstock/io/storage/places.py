"""Places: whether a source would read what is written somewhere.

Spark reads a directory with everything below it, but for names that begin with `_` or `.`; a
pattern stands for the files and directories that match it. Links and relative paths lead where they
lead; URIs are compared as they are written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path, PurePath

from penstock.io.storage.storage_path import is_of_this_machine, local_path, storage_path

_WILD = "*?[{"


def would_read(source: str, place: str) -> bool:
    """Whether a source at `source` would read files that are written into the directory `place`.

    >>> would_read("in", "in"), would_read("in", "./in/results"), would_read("in", "in/_results")
    (True, True, False)
    >>> would_read("in", "in2"), would_read("in/deep", "in"), would_read("a/*", "a/results")
    (False, False, True)
    >>> would_read("hdfs://h/in", "hdfs://h/in/x"), would_read("hdfs://h/in", "in/x")
    (True, False)
    """
    if not (is_of_this_machine(source) and is_of_this_machine(place)):
        return _would_read_uri(source, place)
    into = local_path(place)
    root, pattern = _split(local_path(source))
    return any(
        _covers(start, pattern, target)
        for start in {root, Path(os.path.normpath(root.absolute())), root.resolve()}
        for target in {Path(os.path.normpath(into.absolute())), into.resolve()}
    ) or any(_covers(link, pattern[1:], into.resolve()) for link in _links(root, pattern))


def _would_read_uri(source: str, place: str) -> bool:
    if is_of_this_machine(source) or is_of_this_machine(place):
        return False
    names = PurePath(str(storage_path(source))).parts
    wild = next((n for n, part in enumerate(names) if _is_wild(part)), len(names))
    target = PurePath(str(storage_path(place)))
    return _covers(PurePath(*names[:wild]), names[wild:], target)


def _split(source: Path) -> tuple[Path, tuple[str, ...]]:
    """What stands before the first name with a wildcard, and the names from there on."""
    if source.exists():
        return source, ()
    for place, part in enumerate(source.parts):
        if _is_wild(part):
            return Path(*source.parts[:place]), source.parts[place:]
    return source, ()


def _is_wild(name: str) -> bool:
    return any(sign in name for sign in _WILD)


def _covers(start: PurePath, pattern: tuple[str, ...], target: PurePath) -> bool:
    """Whether files in the directory `target` are read from `start` on."""
    if not target.is_relative_to(start):
        return False
    names = (*target.relative_to(start).parts, "part-00000000")
    if len(names) < len(pattern):
        return False
    if not pattern:
        return not _is_hidden(names)
    # The pattern may name files of any ending.
    ends = ("", ".parquet", ".csv", ".json", ".orc", ".txt")
    return any(
        all(_matches(n, p) for n, p in zip((*names[:-1], names[-1] + end), pattern, strict=False))
        for end in ends
    ) and not _is_hidden(names[len(pattern) :])


def _is_hidden(names: tuple[str, ...]) -> bool:
    return any(name.startswith(("_", ".")) for name in names)


def _matches(name: str, pattern: str) -> bool:
    return any(fnmatchcase(name, each) for each in _spelled_out(pattern))


def _spelled_out(pattern: str) -> Iterator[str]:
    """A pattern with `{a,b}` as one pattern for each of them.

    >>> list(_spelled_out("x{a,b}y"))
    ['xay', 'xby']
    """
    before, brace, rest = pattern.partition("{")
    inside, end, after = rest.partition("}")
    if not (brace and end):
        yield pattern
        return
    for one, tail in product(inside.split(","), list(_spelled_out(after))):
        yield before + one + tail


def _links(root: Path, pattern: tuple[str, ...]) -> Iterator[Path]:
    """Where the links in a directory that is read lead to."""
    try:
        with os.scandir(root) as entries:
            for entry in entries:
                is_read = _matches(entry.name, pattern[0]) if pattern else True
                if is_read and entry.is_symlink() and entry.is_dir():
                    yield Path(entry.path).resolve()
    except OSError:
        return
