"""Results as people read them and as files hold them.

Inside the kernel times are ticks; outside they are datetimes in UTC, and NULL beyond the ends of
time, where no format has a place for them. A file of results is written
under a hidden name and renamed when it is complete, so nobody ever reads half of one; writing one
again under the same name replaces it, which is what makes repeating a batch harmless.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from penstock.io.storage.sealed import whole
from penstock.kernel.readable import as_dicts as as_dicts
from penstock.kernel.readable import readable as readable
from penstock.kernel.readable import within_time
from penstock.kernel.types import polars_type
from penstock.model.schema import Column, Schema
from penstock.model.types import Type

SINK_FORMATS = ("parquet", "csv", "json")

_SHOWN = {Type.TIMESTAMP: pl.Datetime("us"), Type.INTERVAL: pl.Duration("us")}


def presented(rows: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Rows with ticks turned into datetimes and durations."""
    return rows.with_columns(
        _value(column).cast(_SHOWN[column.type]) for column in schema if column.type in _SHOWN
    )


def _value(column: Column) -> pl.Expr:
    ticks = pl.col(column.name)
    return within_time(ticks).alias(column.name) if column.type is Type.TIMESTAMP else ticks


def no_results(schema: Schema) -> pl.DataFrame:
    """A table of that schema without rows, as presented."""
    rows = pl.DataFrame(schema={column.name: polars_type(column.type) for column in schema})
    return presented(rows, schema)


def same_place(path: str, other: str) -> bool:
    """Whether two paths name one directory, however they are written."""
    return Path(path).resolve() == Path(other).resolve()


def write_part(folder: Path, name: str, format: str, rows: pl.DataFrame) -> Path:
    """Write rows as the file `name` of a folder, whole or not at all."""
    file = folder / f"{name}.{format}"
    failure = f"cannot write results to `{folder}`"
    with whole(file, failure, "free some space or name another directory") as hidden:
        folder.mkdir(parents=True, exist_ok=True)
        match format:
            case "parquet":
                rows.write_parquet(hidden, compression="snappy")  # as Spark does
            case "csv":
                rows.write_csv(hidden)
            case "json":
                rows.write_ndjson(hidden)
    return file
