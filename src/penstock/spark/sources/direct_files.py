"""Parquet, CSV and JSON files read by ourselves.

A row that Spark reads and hands to Python costs some 0.4 microseconds for the hop alone. Read here,
one of three columns costs 0.03 in all from parquet, 0.3 from CSV and 0.8 from JSON, values checked.
So Spark only says which files are new, and keeps the books on them as on any file source; the task
that packs rows reads them, or the one that folds them.

Only where both would see the same: files that lie in the file system, no options about what is in
them but those that we know (`io/csv_files.py`), no columns that are names of directories.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import HostError
from penstock.io.csv_files import OPTIONS as CSV_OPTIONS
from penstock.io.csv_files import cannot_be
from penstock.io.files import csv_header, reading
from penstock.io.files import read_file as read_text_file
from penstock.io.storage.hidden_files import check_regular, is_hidden
from penstock.io.storage.storage_path import is_of_this_machine, local_path
from penstock.io.unreadable import UNREADABLE, WAY_OUT, skips_unreadable
from penstock.kernel.conform import Conformed, conform, lines_as_text
from penstock.model.streams import Stream
from penstock.spark.sources.conforming import missing
from penstock.spark.sources.directories import read_files
from penstock.spark.sources.narrow_reading import Needed

PATH = "penstock_path"

#: Rows that are read at a time.
ROWS = 1 << 20

_LISTING = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
#: Options about which files are read, not about what is in them.
_CHOOSING = frozenset(
    [
        "maxfilespertrigger",
        "maxbytespertrigger",
        "latestfirst",
        "maxfileage",
        "filenameonly",
        "cleansource",
        "sourcearchivedir",
        "pathglobfilter",
        "recursivefilelookup",
        "modifiedafter",
        "modifiedbefore",
    ]
)
_GONE = (
    "it was removed, or lies on another machine: on a cluster all machines must find files under "
    "the same path"
)


def is_direct(stream: Stream) -> bool:
    """Whether the stream's files may be read without Spark."""
    origin = stream.origin
    return (
        origin.format in ("parquet", "csv", "json")
        and origin.path is not None
        and bool(stream.arriving)
        and not stream.stamped
        and not stream.computed
        and all(_is_known(origin.format, name.lower(), text) for name, text in origin.options)
        and is_of_this_machine(origin.path)
        and not any("=" in part.name for part in local_path(origin.path).glob("*") if part.is_dir())
    )


def _is_known(format: str, option: str, text: str) -> bool:
    if option == UNREADABLE:
        return True
    is_of_csv = format == "csv" and option in CSV_OPTIONS and not cannot_be(option, text)
    return option in _CHOOSING or is_of_csv


def new_files(spark: SparkSession, stream: Stream) -> DataFrame:
    """The paths of new files, as a stream."""
    options = {n: text for n, text in stream.origin.options if n.lower() in _CHOOSING}
    files = read_files(spark, stream, "binaryFile", _LISTING, options)
    return files.select(files.path.alias(PATH))


def check_header(stream: Stream) -> None:
    """Raise unless the first CSV file that has a header names all columns of the stream."""
    place = local_path(str(stream.origin.path))
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    skips = skips_unreadable(stream)
    for file in files if stream.origin.format == "csv" else ():
        try:
            names = _header(file, stream) if file.is_file() and not is_hidden(file) else None
        except HostError:
            if not skips:
                raise
            continue
        if names is not None:
            there = {name.lower() for name in names}
            for column in stream.arriving:
                if column.name.lower() not in there:
                    raise missing(stream, column.name, names)
            return


def _header(file: Path, stream: Stream) -> list[str] | None:
    with reading(file, stream.origin.format, WAY_OUT):
        return csv_header(file, stream)


def read_file(path: str, stream: Stream, needed: Needed | None = None) -> Iterator[Conformed]:
    """The rows of a file, fitted to the stream, a block at a time; perhaps only what is needed."""
    place = local_path(path)
    if not place.exists():
        raise HostError(f"stream `{stream.name}`: there is no file `{place}` any more", hint=_GONE)
    check_regular([place])
    if stream.origin.format == "parquet":
        return _read_parquet(place, stream, needed)
    return _read_text(place, stream)


def _read_parquet(file: Path, stream: Stream, needed: Needed | None) -> Iterator[Conformed]:
    with reading(file, "parquet", WAY_OUT), pa.parquet.ParquetFile(file) as parquet:
        if needed is not None and needed.suffices(parquet, stream):
            columns = tuple(c for c in stream.columns if c.name in needed.columns)
            stream = replace(stream, columns=columns)
        wanted = {column.name.lower(): column.name for column in stream.arriving}
        given = parquet.schema_arrow.names
        names = {n: wanted[n.lower()] for n in given if n.lower() in wanted}
        for batch in parquet.iter_batches(ROWS, columns=list(names)):
            rows = pl.from_arrow(batch)
            assert isinstance(rows, pl.DataFrame)
            yield conform(stream, rows.rename(names))


def _read_text(file: Path, stream: Stream) -> Iterator[Conformed]:
    # Objects may leave out what they like, and a small file may have none with some column.
    has_all = stream.origin.format == "csv"
    for block in read_text_file(file, stream, ROWS, hint=WAY_OUT, has_all=has_all):
        found = conform(stream, block.rows)
        if block.rejected:
            lines = lines_as_text(block.rejected, stream.arriving)
            aside = lines if found.rejected is None else pl.concat([found.rejected, lines])
            found = Conformed(found.rows, aside)
        yield found
