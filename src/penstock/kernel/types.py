"""How a column of each SQL type looks inside a block, to Arrow, and to people.

Times are ticks: a TIMESTAMP and an INTERVAL column are both Int64, so that windows, purge rules and
bounds see plain integers; so are times within arrays, maps and structs. A DATE stays a date:
nothing progresses on it, and it prints as one. A DECIMAL is one of Polars', of the same digits.

    in a block           Int64 ticks, also within List, Map and Struct
    shown, in files      Datetime (in UTC, or what a clock shows), Duration: `shown_type`
    Arrow                what files of these types hold: `arrow_type`, and back: `type_of_arrow`
    Spark                the type's own text is Spark's DDL; `Type(field.dataType.simpleString())`
"""

from __future__ import annotations

from functools import cache

import polars as pl
import pyarrow as pa

from penstock.model.types import ArrayType, DecimalType, MapType, StructType, Type

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
    Type.TIMESTAMP_NTZ: pl.Int64(),
    Type.INTERVAL: pl.Int64(),
    Type.NULL: pl.Null(),
}

#: Where people and files see something else.
_SHOWN: dict[Type, pl.DataType] = {
    Type.TIMESTAMP: pl.Datetime("us"),
    Type.TIMESTAMP_NTZ: pl.Datetime("us"),
    Type.INTERVAL: pl.Duration("us"),
}


@cache
def polars_type(type_: Type) -> pl.DataType:
    """The type of a block's column.

    >>> polars_type(Type.TIMESTAMP), polars_type(DecimalType(10, 2))
    (Int64, Decimal(precision=10, scale=2))
    """
    return POLARS_TYPES[type_] if type_ in POLARS_TYPES else _made_of(type_, polars_type)


@cache
def shown_type(type_: Type) -> pl.DataType:
    """The type of a column of results.

    >>> shown_type(ArrayType(Type.TIMESTAMP))
    List(Datetime(time_unit='us', time_zone=None))
    """
    if type_ in POLARS_TYPES:
        return _SHOWN.get(type_, POLARS_TYPES[type_])
    return _made_of(type_, shown_type)


def is_shown_otherwise(type_: Type) -> bool:
    """Whether results hold something else than blocks."""
    return shown_type(type_) != polars_type(type_)


def _made_of(type_: Type, part: object) -> pl.DataType:
    assert callable(part)
    match type_:
        case DecimalType():
            return pl.Decimal(type_.precision, type_.scale)
        case ArrayType():
            return pl.List(part(type_.element))
        case MapType():
            return pl.Map(part(type_.key), part(type_.of))
        case StructType():
            return pl.Struct({name: part(of) for name, of in type_.fields})
    raise AssertionError(f"no column can be {type_}")


_ARROW: dict[Type, pa.DataType] = {
    Type.BOOLEAN: pa.bool_(),
    Type.TINYINT: pa.int8(),
    Type.SMALLINT: pa.int16(),
    Type.INT: pa.int32(),
    Type.BIGINT: pa.int64(),
    Type.FLOAT: pa.float32(),
    Type.DOUBLE: pa.float64(),
    Type.STRING: pa.string(),
    Type.BINARY: pa.binary(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us", "UTC"),
    Type.TIMESTAMP_NTZ: pa.timestamp("us"),
    Type.INTERVAL: pa.duration("us"),
    Type.NULL: pa.null(),
}


@cache
def arrow_type(type_: Type) -> pa.DataType:
    """The type of Arrow that says the same: a TIMESTAMP is in UTC, one without a zone in none."""
    match type_:
        case DecimalType():
            return pa.decimal128(type_.precision, type_.scale)
        case ArrayType():
            return pa.list_(arrow_type(type_.element))
        case MapType():
            return pa.map_(arrow_type(type_.key), arrow_type(type_.of))
        case StructType():
            return pa.struct([(name, arrow_type(of)) for name, of in type_.fields])
    return _ARROW[type_]


def type_of_arrow(given: pa.DataType) -> Type | None:
    """Our type for one of Arrow's; None: no query can use it.

    >>> type_of_arrow(pa.list_(pa.decimal128(5, 2)))
    <ARRAY<DECIMAL(5, 2)>>
    """
    types = pa.types
    if types.is_dictionary(given):
        return type_of_arrow(given.value_type)
    if types.is_timestamp(given):
        return Type.TIMESTAMP_NTZ if given.tz is None else Type.TIMESTAMP
    if types.is_decimal(given):
        fits = given.precision <= 38 and 0 <= given.scale <= given.precision
        return DecimalType(given.precision, given.scale) if fits else None
    if types.is_map(given):
        key, of = type_of_arrow(given.key_type), type_of_arrow(given.item_type)
        return MapType(key, of) if key and of and not key.has_map else None
    if types.is_list(given) or types.is_large_list(given) or types.is_fixed_size_list(given):
        element = type_of_arrow(given.value_type)
        return ArrayType(element) if element else None
    if types.is_struct(given):
        fields = [(field.name, type_of_arrow(field.type)) for field in given]
        known = tuple((name, of) for name, of in fields if of is not None)
        return StructType(known) if known and len(known) == len(fields) else None
    if types.is_unsigned_integer(given):
        return Type.BIGINT
    if types.is_duration(given):
        return Type.INTERVAL
    if types.is_date(given):
        return Type.DATE
    if types.is_large_string(given) or types.is_string_view(given):
        return Type.STRING
    if types.is_large_binary(given) or types.is_binary_view(given):
        return Type.BINARY
    return next((of for of, arrow in _ARROW.items() if arrow == given), None)
