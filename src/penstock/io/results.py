"""Results as people read them and as files hold them.

Inside the kernel times are ticks; outside they are datetimes in UTC, and NULL beyond the ends of
time, where no format has a place for them. A file of results is written
under a hidden name and renamed when it is complete, so nobody ever reads half of one; writing one
again under the same name replaces it, which is what makes repeating a batch harmless.

Where several processes compute the rows of one file, each stages its own, and the parts are joined.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import polars as pl
import pyarrow.parquet

from penstock.errors import NotExecutable
from penstock.io.joined_parquet import join_parquet
from penstock.io.json_text import no_json
from penstock.io.storage.sealed import or_removed, whole
from penstock.io.storage.storage_path import StoragePath
from penstock.kernel.readable import as_dicts as as_dicts
from penstock.kernel.readable import is_within_time, within_time
from penstock.kernel.readable import readable as readable
from penstock.kernel.types import is_shown_otherwise, polars_type, shown_type
from penstock.model.schema import Column, Schema
from penstock.model.types import MapType, Type

SINK_FORMATS = ("parquet", "csv", "json")
#: Rows up to which a parquet file is written by Arrow.
FEW_ROWS = 10_000
#: How hidden files begin that are to become part of one.
STAGED = ".part-staged-"

_REMEDY = "free some space or name another directory"


def presented(rows: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Rows with ticks turned into datetimes and durations."""
    shown = {
        column.name: _value(column, rows.get_column(column.name)).cast(shown_type(column.type))
        for column in schema
        if is_shown_otherwise(column.type)
    }
    # Not `with_columns`, which hands even this to another thread.
    return pl.DataFrame([shown.get(column.name, column) for column in rows.get_columns()])


def _value(column: Column, ticks: pl.Series) -> pl.Series:
    if not column.type.is_time or is_within_time(ticks):
        return ticks
    return pl.select(within_time(pl.lit(ticks)).alias(column.name)).to_series()


def check_format(format: str, schema: Schema) -> None:
    """Refuse columns that a file of the format has no place for."""
    for column in schema:
        name, of = column.name, column.type
        if format == "csv" and of.is_nested:
            raise NotExecutable(
                f"INTO csv has no place for `{name}`, which is {of}",
                hint="write INTO parquet or json; or select its parts, such as "
                f"{name}.field or {name}[0]",
            )
        why = "CSV is text" if format == "csv" and of is Type.BINARY else None
        why = no_json(of) if format == "json" else why
        if why is not None:
            raise NotExecutable(
                f"INTO {format} has no place for `{name}`, which is {of}: {why}",
                hint=f"write INTO parquet; or text instead, such as {as_text(name, of)}",
            )


def as_text(name: str, of: Type) -> str:
    """How to write a column of bytes, or with keys that are not text, as one that is text."""
    if of is Type.BINARY:
        return f"base64({name}), a function of Spark's"
    if isinstance(of, MapType):
        return f"its keys and values: map_keys({name}), map_values({name})"
    return f"the parts of {name} that are text"


def no_rows(schema: Schema) -> pl.DataFrame:
    """A table of that schema without rows, as the kernel has them."""
    return pl.DataFrame(schema={column.name: polars_type(column.type) for column in schema})


def no_results(schema: Schema) -> pl.DataFrame:
    """The same as presented."""
    return presented(no_rows(schema), schema)


def write_part(
    folder: StoragePath,
    name: str,
    format: str,
    rows: pl.DataFrame,
    staged: Sequence[Path] = (),
) -> StoragePath:
    """Write rows as the file `name` of a folder, whole or not at all; those of `staged` first."""
    file = folder / f"{name}.{format}"
    with whole(file, _failure(folder), _REMEDY) as hidden:
        folder.mkdir(parents=True, exist_ok=True)
        if staged:
            _join(staged, rows, format, hidden)
        elif format == "parquet" and rows.height <= FEW_ROWS and _is_flat(rows):
            hidden.write_bytes(few_as_parquet(rows))
        else:
            _write(rows, format, hidden)
    return file


def stage_part(folder: Path, format: str, rows: pl.DataFrame) -> Path:
    """Write rows to a hidden file of a folder, for `write_part` to make them part of another.

    Anybody may do so who computes rows; a file that nobody asks for is removed at the next start.
    """
    file = folder / staged_name(format)
    with or_removed(file, _failure(folder), _REMEDY):
        _write(rows, format, file, header=False)
    return file


def staged_name(format: str) -> str:
    """A name for a file of rows that are to become part of another; no two are the same."""
    return f"{STAGED}{uuid4().hex}.{format}"


def staged_content(format: str, rows: pl.DataFrame) -> bytes:
    """What stands in such a file, for whoever cannot write it himself."""
    content = io.BytesIO()
    _write(rows, format, content, header=False)
    return content.getvalue()


def head_of(format: str, rows: pl.DataFrame) -> bytes:
    """What stands in a file of these columns before the content of staged ones."""
    return rows.clear().write_csv().encode() if format == "csv" else b""


def _failure(folder: StoragePath) -> str:
    return f"cannot write results to `{folder}`"


def _write(
    rows: pl.DataFrame, format: str, file: Path | io.BytesIO, *, header: bool = True
) -> None:
    match format:
        case "parquet":
            rows.write_parquet(file, compression="snappy")  # as Spark does
        case "csv":
            rows.write_csv(file, include_header=header)
        case "json":
            rows.write_ndjson(file)


def few_as_parquet(rows: pl.DataFrame) -> bytes:
    """A parquet file of few rows, as Polars writes it.

    Arrow does it here and now; Polars plans it and hands it to threads, which takes longer than
    the writing, and a thousand queries have a thousand such files in every batch.
    """
    content = io.BytesIO()
    table = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
    pyarrow.parquet.write_table(table, content, compression="snappy")
    return content.getvalue()


def _is_flat(rows: pl.DataFrame) -> bool:
    """Whether no column has lists or structs, which the two name differently within files."""
    return not any(of.is_nested() for of in rows.dtypes)


def _join(staged: Sequence[Path], rows: pl.DataFrame, format: str, file: Path) -> None:
    """The rows of staged files, and others behind them, as one file."""
    last = stage_part(file.parent, format, rows) if rows.height else None
    parts = [*staged, *filter(None, [last])]
    if format == "parquet":
        join_parquet(parts, file)
    else:
        with file.open("wb") as out:
            out.write(head_of(format, rows))
            for part in parts:
                with part.open("rb") as content:
                    shutil.copyfileobj(content, out, 1 << 20)
    if last is not None:
        last.unlink()
