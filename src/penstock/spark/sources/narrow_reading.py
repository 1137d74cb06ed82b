"""Which columns of a stream need not be read, nor sent on.

Decoding text that no query looks at can take longer than all the rest. A column may be left out if
nothing could come of reading it: no query uses it, and no row of the file is handed to anybody as a
whole. Malformed rows are, so all values must be of the declared types already; and rows that are
late or have no time may be, which the statistics of the time column tell.

Groups get rows without these columns, and put NULLs in their place.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
import pyarrow as pa
import pyarrow.parquet

from penstock.kernel.types import polars_type
from penstock.model.schema import Column
from penstock.model.streams import Stream
from penstock.model.timestamps import END
from penstock.model.types import Type
from penstock.optimizer.physical import Program, walk
from penstock.optimizer.specs import StaticJoinSpec
from penstock.plan import nodes
from penstock.plan.graph import columns_used

#: Their values are converted, and may turn out to be none.
_CONVERTED = (Type.TIMESTAMP, Type.TIMESTAMP_NTZ, Type.INTERVAL)


def columns_needed(program: Program) -> dict[str, frozenset[str] | None]:
    """By stream, the columns that queries use; None: perhaps all."""
    if any(isinstance(plan.spec, StaticJoinSpec) for plan in walk(program.plans.values())):
        return {stream.name: None for stream in program.streams}  # it takes whole rows
    used = {stream.name: frozenset(stream.times) for stream in program.streams}
    for node, columns in columns_used(program.queries.values()).items():
        if isinstance(node, nodes.Source):
            used[node.stream.name] |= columns
    return {**used}


def whole(rows: pl.DataFrame, stream: Stream) -> pl.DataFrame:
    """Rows of a stream with all its columns, NULL where one was left out."""
    missing = [column for column in stream.exchanged if column.name not in rows.columns]
    if not missing:
        return rows
    nulls = (pl.lit(None, polars_type(column.type)).alias(column.name) for column in missing)
    return rows.with_columns(nulls).select(column.name for column in stream.exchanged)


@dataclass(frozen=True)
class Needed:
    """The columns that are used of rows that all lie at a time or later."""

    columns: frozenset[str]
    since: int

    def of(self, rows: pl.DataFrame, stream: Stream) -> pl.DataFrame:
        """These rows, without the other columns if all of them lie in time."""
        times = rows.get_column(str(stream.timestamp)).cast(pl.Int64)  # which holds all bounds
        low, high = times.min(), times.max()
        if times.null_count() or not isinstance(low, int) or not isinstance(high, int):
            return rows
        if low < self.since or high >= END:
            return rows
        return rows.select(name for name in rows.columns if name in self.columns)

    def suffices(self, file: pa.parquet.ParquetFile, stream: Stream) -> bool:
        """Whether the other columns of a file need not be read."""
        if stream.derived:
            return False
        names = file.schema_arrow.names
        columns = [column for column in stream.arriving if column.name != stream.timestamp]
        is_flat = names == [file.schema.column(n).path for n in range(len(file.schema))]
        return (
            is_flat
            and all(column.name in names for column in stream.arriving)
            and all(_is_exact(file.schema_arrow.field(each.name).type, each) for each in columns)
            and self._has_times(file, str(stream.timestamp))
        )

    def _has_times(self, file: pa.parquet.ParquetFile, on: str) -> bool:
        """Whether all rows lie in time, by the statistics of all row groups."""
        type_, place = file.schema_arrow.field(on).type, file.schema_arrow.names.index(on)
        in_ticks = type_ == pa.int64() or (pa.types.is_timestamp(type_) and type_.unit == "us")
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        return in_ticks and all(self._has_time(group.column(place)) for group in groups)

    def _has_time(self, column: pa.parquet.ColumnChunkMetaData) -> bool:
        known = column.statistics
        return (
            known is not None
            and known.physical_type == "INT64"
            and known.has_min_max
            and known.has_null_count
            and known.null_count == 0
            and known.min_raw >= self.since
            and known.max_raw < END
        )


def _is_exact(type_: pa.DataType, column: Column) -> bool:
    """Whether values of a file's column are all of the declared type."""
    if column.type.is_time and pa.types.is_timestamp(type_):
        return bool(type_.unit == "us")  # others may not fit
    read = pl.Series(pa.array([], type=type_))
    return column.type not in _CONVERTED and read.dtype == polars_type(column.type)
