"""Directories that Spark reads as streams: every file in them, once.

A batch takes at most as many bytes as memory allows (`file_sizes`), or what the stream says.

Some habits of Spark's are not wanted. Files that are more than a week older than the newest it has
seen are passed over without a word (`maxFileAge`): here age does not matter, unless the stream says
so. A path is always taken for a pattern, in which `[ ] { } ? *` and `\\` have a meaning: here only
one that leads nowhere as it stands.

And where the path of a file has such a character, Spark reads every file of its batch once more
(4.3: `DataSource.checkAndGlobPathIfNecessary` gives all paths for each that looks like a pattern,
when it is told that none is one). So a stream of the user's is refused over such names, and files
that come later are passed over until they are renamed. Our own folders have no folders in them, and
with `recursiveFileLookup` Spark keeps their files as a set.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from penstock.errors import HostError
from penstock.io.storage.hidden_files import HIDDEN, check_regular, is_hidden
from penstock.io.storage.storage_path import StoragePath, is_of_this_machine, local_path
from penstock.io.unreadable import skips_unreadable
from penstock.model.streams import Stream
from penstock.spark.sources import file_sizes

#: Longer than any file is old.
FOREVER = "36500d"

#: What makes a name a pattern.
_PATTERN = re.compile(r"[\[\]{}?*\\]")
#: Names that Spark is to pass over: those that it does anyway, and those it cannot read rightly.
_IGNORED = rf"{HIDDEN}|{_PATTERN.pattern}"


def reading_all(options: Mapping[str, str]) -> dict[str, str]:
    """Options of a stream of files; no file is too old, if they do not say how old.

    >>> sorted(reading_all({"sep": ";"}))
    ['ignoredPathSegmentRegex', 'maxBytesPerTrigger', 'maxFileAge', 'sep']
    >>> sorted(reading_all({"MAXFILEAGE": "7d", "maxFilesPerTrigger": "1"}))
    ['MAXFILEAGE', 'ignoredPathSegmentRegex', 'maxFilesPerTrigger']
    """
    ours = {"maxFileAge": FOREVER, "ignoredPathSegmentRegex": _IGNORED}
    said = {name.lower() for name in options}
    if not said.intersection(file_sizes.LIMITS):
        ours["maxBytesPerTrigger"] = str(file_sizes.largest_batch())
    return {name: value for name, value in ours.items() if name.lower() not in said} | dict(options)


def read_files(
    spark: SparkSession, stream: Stream, format: str, schema: str, options: Mapping[str, str]
) -> DataFrame:
    """The files of a stream, in a format of Spark's and under these options."""
    reader = spark.readStream.format(format).schema(schema).options(**reading_all(options))
    return reader.load(place_of(str(stream.origin.path)))


def own_folder(spark: SparkSession, folder: StoragePath) -> tuple[DataStreamReader, str]:
    """A reader for a folder of ours, and what to tell it to load."""
    reader = spark.readStream.option("maxFileAge", FOREVER).option("recursiveFileLookup", "true")
    return reader, as_it_stands(str(folder.resolve()))


def check_files(stream: Stream) -> None:
    """Refuse a stream of files of which there are none, or that Spark would read more than once.

    Of files that do not lie in the file system only Spark knows.
    """
    path = stream.origin.path
    if path is not None and not is_of_this_machine(path):
        return
    local = str(local_path(path or ""))
    places = [local] if Path(local).exists() else glob.glob(local)
    if path is None or not places:
        raise HostError(
            f"stream `{stream.name}`: there is nothing at `{path}`",
            hint="name a directory of files; relative paths start where you are",
        )
    if not skips_unreadable(stream):
        check_regular(file for place in places for file in _readable(Path(place)))
    for place in places:
        is_odd = _PATTERN.search(str(Path(place).absolute()))
        odd = place if is_odd else next(odd_files(place), None)
        if odd is not None:
            raise HostError(
                f"stream `{stream.name}`: Spark would read files more than once, because the name "
                f"of `{odd}` looks like a pattern",
                hint="rename it without [ ] { } ? * \\, or name a link to the directory "
                "(ln -s) that has none of them; --local reads it as it is",
            )


def _readable(place: Path) -> Iterator[Path]:
    """A file, or the files of a directory that are read."""
    if not place.is_dir():
        return iter([place])
    return (file for file in place.iterdir() if not is_hidden(file))


def odd_files(folder: str) -> Iterator[str]:
    """The files of a folder that Spark cannot read rightly for their names."""
    place = local_path(folder)
    is_there = is_of_this_machine(folder) and place.is_dir()
    for file in sorted(place.iterdir()) if is_there else ():
        if _PATTERN.search(file.name) and not is_hidden(file):
            yield str(file)


def place_of(path: str) -> str:
    """A path as Spark must be told it to mean the directory of that name, if there is one.

    Relative paths begin where this process is, which may have gone elsewhere since it started Java.

    >>> place_of("/no/such/*.csv"), place_of("s3://bucket/2026-*")
    ('/no/such/*.csv', 's3://bucket/2026-*')
    >>> place_of("no/such/*.csv") == as_it_stands(str(Path.cwd())) + "/no/such/*.csv"
    True
    """
    if not is_of_this_machine(path):
        return path
    scheme, local = "file://" if path.startswith("file:") else "", local_path(path)
    if local.exists():
        return scheme + as_it_stands(str(local.absolute()))
    here = "" if local.is_absolute() else f"{as_it_stands(str(Path.cwd()))}/"
    return here + path


def as_it_stands(path: str) -> str:
    """A path in which no character stands for others."""
    return _PATTERN.sub(r"\\\g<0>", path)
