"""Files as streams and results as files: parquet, csv, json (one object a line).

A path is a file, a directory (all files of the format in it, by name) or a pattern with `*`. Files
are read a block at a time. CSV is read as text and JSON as the values it holds; types come later,
where a value that does not conform rejects one row instead of ending the file. A line that is not
a row at all comes along as `rejected`. See `csv_files` and `json_files`.

Results of one run go to a directory of numbered parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet

from penstock.errors import HostError, MalformedRow, NotExecutable
from penstock.io.csv_files import OPTIONS as CSV_OPTIONS
from penstock.io.csv_files import Style, cannot_be, names_in, read_csv, style_of
from penstock.io.json_files import read_json
from penstock.io.results import write_part
from penstock.io.storage.hidden_files import (
    check_regular,
    files_of_format,
    is_empty,
    is_hidden,
)
from penstock.io.storage.output_folder import OutputFolder
from penstock.io.storage.storage_path import check_of_this_machine, local_path
from penstock.io.unreadable import UNREADABLE, skips_unreadable, why_unreadable
from penstock.kernel.conform import Rows
from penstock.model.schema import suggest
from penstock.model.streams import Stream

#: Options about how fast files are read: here they are read one after the other.
_PACING = ("maxfilespertrigger", "maxbytespertrigger", "maxfileage", "maxcachedfiles")


def files_of(path: str, format: str, *, only_regular: bool = True) -> list[Path]:
    """The files a path stands for, in the order of their names.

    With `only_regular`, others among them are refused.
    """
    check_of_this_machine(path)
    place = local_path(path)
    if place.is_dir():
        found = [f for f in files_of_format(place, format) if not is_hidden(f)]
    elif not place.exists() and any(c in str(place) for c in "*?["):
        anchor = Path(place.anchor) if place.is_absolute() else Path()
        pattern = place.relative_to(anchor)
        found = [f for f in anchor.glob(str(pattern)) if not is_hidden(f) or is_hidden(pattern)]
    else:
        found = [place] if place.exists() else []
    if not found:
        raise HostError(
            f"nothing to read at `{path}`: there is no {format} file",
            hint="give a file, a directory or a pattern; relative paths start where you are",
        )
    if only_regular:
        check_regular(found)
    return sorted(found)


@dataclass(frozen=True)
class FileBlock:
    """Rows of a file, and the lines between them that are no rows.

    A file that is skipped has neither; `unreadable` is its name and the reason.
    """

    rows: Rows
    rejected: tuple[str, ...] = ()
    unreadable: tuple[str, str] | None = None


def read_blocks(stream: Stream, rows_per_block: int) -> Iterator[FileBlock]:
    """The rows of a stream's files, a block at a time, with the stream's columns only."""
    assert stream.origin.path is not None
    skips = skips_unreadable(stream)
    for file in files_of(stream.origin.path, stream.origin.format, only_regular=not skips):
        hint = "the rows before it have been processed"
        read = partial(read_file, file, stream, rows_per_block, hint)
        if skips and (reason := why_unreadable(read)):
            yield FileBlock([], unreadable=(str(file), reason))
        else:
            yield from read()


def read_file(
    file: Path, stream: Stream, rows_per_block: int, hint: str, *, has_all: bool = True
) -> Iterator[FileBlock]:
    """The rows of one file of a stream; `hint` says what to do if it cannot be read.

    Where a file need not have all columns, those that no object has are NULL.
    """
    check_regular([file])
    with reading(file, stream.origin.format, hint):
        for block in _reader(stream, has_all)(file, rows_per_block):
            yield FileBlock(_columns(block.rows, stream, file, has_all), block.rejected)


@contextmanager
def reading(file: Path, format: str, hint: str | None = None) -> Iterator[None]:
    """Whatever a reader of files raises in this block, as an error that names the file."""
    try:
        yield
    except (pa.ArrowException, pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as cause:
        raise HostError(f"cannot read `{file}` as {format}: {cause}", hint=hint) from cause


def csv_header(file: Path, stream: Stream) -> list[str] | None:
    """The names of columns in a file's first line; None: it has none, or nobody reads it."""
    style = _style(stream)
    return (names_in(file, style) or None) if style.names is None else None


def _columns(rows: Rows, stream: Stream, file: Path, has_all: bool) -> Rows:
    """The stream's columns only."""
    wanted = [column.name for column in stream.arriving]
    if isinstance(rows, pl.DataFrame):
        # The names of columns are the same whatever their case, as in SQL.
        by_case = {name.lower(): name for name in reversed(rows.columns)}
        found = {n: n if n in rows.columns else by_case.get(n.lower(), n) for n in wanted}
        _check_present(list(found.values()), rows.columns, stream, file)
        return rows.select(pl.col(there).alias(name) for name, there in found.items())
    if rows and has_all:
        _check_present(wanted, {name: None for row in rows for name in row}, stream, file)
    # What an object leaves out is NULL.
    return [{name: row.get(name) for name in wanted} for row in rows]


def _check_present(wanted: list[str], given: Iterable[str], stream: Stream, file: Path) -> None:
    given = list(given)
    for name in wanted:
        if name not in given:
            raise MalformedRow(
                stream.name,
                f"`{file}` has no column `{name}`, which `{stream.name}` declares",
                hint=suggest(name, given),
            )


def _read_parquet(file: Path, rows_per_block: int) -> Iterator[FileBlock]:
    if is_empty(file):
        return
    with pa.parquet.ParquetFile(file) as parquet:
        for batch in parquet.iter_batches(rows_per_block):
            yield FileBlock(pl.DataFrame(pa.Table.from_batches([batch])))


def _reader(stream: Stream, has_all: bool) -> Callable[[Path, int], Iterator[FileBlock]]:
    """What reads files as the stream's options say."""
    if stream.origin.format == "parquet":
        return _read_parquet
    if stream.origin.format == "json":
        columns = stream.arriving
        return lambda file, rows: (
            FileBlock(*part) for part in read_json(file, rows, columns, has_all=has_all)
        )
    style = _style(stream)
    return lambda file, rows: (FileBlock(*part) for part in read_csv(file, rows, style))


def _style(stream: Stream) -> Style:
    return style_of(_meant(stream), [column.name for column in stream.arriving])


def check_options(stream: Stream) -> None:
    """Refuse options that this host would have to ignore."""
    known = CSV_OPTIONS if stream.origin.format == "csv" else {}
    skips_unreadable(stream)
    for name, text in stream.origin.options:
        if name.lower() not in (*known, *_PACING, UNREADABLE):
            usable = ", ".join([*known, UNREADABLE])
            raise NotExecutable(
                f"stream `{stream.name}`: this host reads {stream.origin.format} without the "
                f"option `{name}`",
                hint=f"options here are: {usable}; Spark has more",
            )
        needed = cannot_be(name.lower(), text)
        if needed:
            raise NotExecutable(
                f"stream `{stream.name}`: the option `{name}` of csv cannot be '{text}' on this "
                "host",
                hint=f"give {needed}",
            )


def _meant(stream: Stream) -> dict[str, str]:
    """The options about what is in the files."""
    given = stream.origin.lowercase_options
    return {name: text for name, text in given.items() if name not in (*_PACING, UNREADABLE)}


def check_unused(path: str) -> None:
    """Refuse a place that cannot take the results of a new query."""
    check_of_this_machine(path)
    folder = local_path(path)
    if folder.exists() and not folder.is_dir():
        raise HostError(f"`{path}` is a file, and results are written into a directory")
    if any(folder.glob("part-*")):
        raise HostError(
            f"`{path}` holds results already",
            hint="name another directory after INTO, or remove this one",
        )


class FileSink:
    """Writes one query's results as numbered parts of a directory, each complete or not there.

    Nobody else may write into it from the first result until `close`.
    """

    def __init__(self, format: str, path: str) -> None:
        check_unused(path)
        self._format = format
        self._path = path
        self._folder: OutputFolder | None = None
        self._part = 0

    def write(self, rows: pl.DataFrame) -> None:
        if not rows.height:
            return
        if self._folder is None:
            self._folder = OutputFolder(local_path(self._path))
            if self._part == 0:
                check_unused(self._path)  # another run may have come first
        write_part(self._folder.path, f"part-{self._part:05d}", self._format, rows)
        self._part += 1

    def close(self) -> None:
        """Nothing more is written."""
        if self._folder is not None:
            self._folder.release()
            self._folder = None
