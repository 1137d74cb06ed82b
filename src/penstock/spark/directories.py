"""Directories that Spark reads as streams: every file in them, once.

Two habits of Spark's are not wanted. Files that are more than a week older than the newest it has
seen are passed over without a word (`maxFileAge`): here age does not matter, unless the stream says
so. And a path is always taken for a pattern, in which `[ ] { } ? *` and `\\` have a meaning: here
only one that leads nowhere as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

#: Longer than any file is old.
FOREVER = "36500d"


def reading_all(options: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Options of a stream of files, and that no file is too old, if they do not say how old.

    >>> reading_all([("sep", ";")])
    {'maxFileAge': '36500d', 'sep': ';'}
    >>> reading_all([("MAXFILEAGE", "7d")])
    {'MAXFILEAGE': '7d'}
    """
    given = dict(options)
    says_age = any(name.lower() == "maxfileage" for name in given)
    return given if says_age else {"maxFileAge": FOREVER, **given}


def place_of(path: str) -> str:
    """A path as Spark must be told it to mean the directory of that name, if there is one.

    >>> place_of("no/such/*.csv")
    'no/such/*.csv'
    >>> place_of("s3://bucket/2026-*")
    's3://bucket/2026-*'
    """
    scheme, local = ("file://", path[7:]) if path.startswith("file://") else ("", path)
    if "://" in local or not Path(local).exists():
        return path
    return scheme + escaped(local)


def escaped(path: str) -> str:
    """A path with nothing in it that Hadoop takes for a pattern.

    >>> print(escaped("a[1]/b{2,3}*"))
    a\\[1\\]/b\\{2,3\\}\\*
    """
    return re.sub(r"([\[\]{}?*\\])", r"\\\1", path)
