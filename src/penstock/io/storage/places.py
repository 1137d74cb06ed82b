"""Places: whether a source would read what is written somewhere.

Spark reads a directory with everything below it, but for names that begin with `_` or `.`; a
pattern stands for the files and directories that match it. Links and relative paths lead where they
lead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

from penstock.model.streams import Origin

_WILD = "*?[{"
#: Formats whose path is something else than a place of files.
_OTHER_PATHS = ("workload", "redis")


def names_files(origin: Origin) -> bool:
    """Whether the path of a source is one of files, as far as is known."""
    return origin.path is not None and origin.format not in _OTHER_PATHS


def would_read(source: str, place: str) -> bool:
    """Whether a source at `source` would read files that are written into the directory `place`.

    >>> would_read("in", "in"), would_read("in", "./in/results"), would_read("in", "in/_results")
    (True, True, False)
    >>> would_read("in", "in2"), would_read("in/deep", "in"), would_read("a/*", "a/results")
    (False, False, True)
    """
    into = _local(place)
    root, pattern = _split(_local(source))
    return any(
        _covers(start, pattern, target)
        for start in {root, Path(os.path.normpath(root.absolute())), root.resolve()}
        for target in {Path(os.path.normpath(into.absolute())), into.resolve()}
    ) or any(_covers(link, pattern[1:], into.resolve()) for link in _links(root, pattern))


def _local(path: str) -> Path:
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    return Path(path)


def _split(source: Path) -> tuple[Path, tuple[str, ...]]:
    """What stands before the first name with a wildcard, and the names from there on."""
    if source.exists():
        return source, ()
    for place, part in enumerate(source.parts):
        if any(sign in part for sign in _WILD):
            return Path(*source.parts[:place]), source.parts[place:]
    return source, ()


def _covers(start: Path, pattern: tuple[str, ...], target: Path) -> bool:
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
