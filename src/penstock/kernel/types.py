"""How a column of each SQL type looks inside a block.

Times are ticks: a TIMESTAMP and an INTERVAL column are both Int64, so that windows, purge rules and
bounds see plain integers. A DATE stays a date: nothing progresses on it, and it prints as one.
"""

from __future__ import annotations

import polars as pl

from penstock.model.types import Type

POLARS_TYPES: dict[Type, pl.DataType] = {
    Type.BOOLEAN: pl.Boolean(),
    Type.TINYINT: pl.Int8(),
    Type.SMALLINT: pl.Int16(),
    Type.INT: pl.Int32(),
    Type.BIGINT: pl.Int64(),
    Type.FLOAT: pl.Float32(),
    Type.DOUBLE: pl.Float64(),
    Type.STRING: pl.String(),
    Type.BINARY: pl.Binary(),
    Type.DATE: pl.Date(),
    Type.TIMESTAMP: pl.Int64(),
    Type.INTERVAL: pl.Int64(),
    Type.NULL: pl.Null(),
}


def polars_type(type_: Type) -> pl.DataType:
    """The type of a block's column.

    >>> polars_type(Type.TIMESTAMP)
    Int64
    """
    return POLARS_TYPES[type_]
