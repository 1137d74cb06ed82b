"""Conforming rows to a stream: whatever comes in, in the types of a block.

A value conforms if it can be converted to the column's type without changing what it says: an INT
to BIGINT, 2.0 to INT and 2.5 not, a number not to STRING. Text conforms where it can be read as
the type, because that is how files bring values. A TIMESTAMP comes as a point in time (one
without a zone is UTC) or a date. Numbers are none: whether they count seconds or milliseconds, only
the stream can say, by a column that it derives from them.

One value that does not conform rejects its row, and the others go on; columns that are missing or
too many are a mistake in the program, and an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from penstock.errors import MalformedRow
from penstock.kernel.conform_parts import conform_decimals, conform_nested, conform_parts
from penstock.kernel.expressions import compile_expression
from penstock.kernel.plain_text import from_plain_text
from penstock.kernel.readable import as_dicts
from penstock.kernel.rejected import NO_ROW
from penstock.kernel.types import polars_type
from penstock.model.expressions import Cast, Ref
from penstock.model.schema import Column, suggest
from penstock.model.streams import Stream
from penstock.model.timestamps import BEGINNING, END, to_ticks
from penstock.model.types import DecimalType, Type, castable

Rows: TypeAlias = pl.DataFrame | Sequence[Mapping[str, Any]]


class WrittenFloat(float):
    """A floating-point number that knows the text it was read from, where decimals are wanted."""

    text: str

    def __new__(cls, text: str) -> WrittenFloat:
        made = super().__new__(cls, text)
        made.text = text
        return made


@dataclass(frozen=True)
class Conformed:
    """Rows with a block's types, and rejected ones, if any, as text with the reason."""

    rows: pl.DataFrame
    rejected: pl.DataFrame | None = None


def conform(stream: Stream, rows: Rows) -> Conformed:
    """Rows as the stream's arriving columns, and those that are derived from them."""
    check_columns(stream, rows)
    given: dict[str, pl.Series | list[Any]]
    if isinstance(rows, pl.DataFrame):
        given = {column.name: rows.get_column(column.name) for column in stream.arriving}
        height = rows.height
    else:
        given = {column.name: [row[column.name] for row in rows] for column in stream.arriving}
        height = len(rows)
    conformed = {
        column.name: conform_values(given[column.name], column.type) for column in stream.arriving
    }
    frame = pl.DataFrame(conformed or None, height=height)  # a row may have no columns at all
    frame = with_derived(frame, stream)
    reasons: dict[int, str] = {}
    for column in stream.arriving:
        for place in _rejected(given[column.name], conformed[column.name]):
            reasons.setdefault(place, _reason(column, given[column.name][place]))
    if not reasons:
        return Conformed(frame)
    bad = sorted(reasons)
    good = np.ones(height, dtype=bool)
    good[bad] = False
    rejected = [{name: values[place] for name, values in given.items()} for place in bad]
    return Conformed(
        frame.filter(pl.Series(good)),
        as_text(rejected, stream.arriving, [reasons[place] for place in bad]),
    )


def with_derived(rows: pl.DataFrame, stream: Stream) -> pl.DataFrame:
    """Conformed rows with the columns that are derived from those they have brought along."""
    if not stream.derived:
        return rows
    return rows.with_columns(
        compile_expression(each.value).alias(each.name) for each in stream.derived
    )


def lines_as_text(lines: Sequence[str], columns: Sequence[Column]) -> pl.DataFrame:
    """What is not a row at all, such as a line of a file that cannot be read, as rejected rows."""
    rows = [dict.fromkeys((column.name for column in columns), None) for _ in lines]
    return as_text(rows, columns, [f"{NO_ROW}{line}" for line in lines])


def as_text(
    rows: Iterable[Mapping[str, Any]], columns: Iterable[Column], reasons: Sequence[str]
) -> pl.DataFrame:
    """Rows that have no type in common: their values as text, and why each was rejected."""
    rows = list(rows)
    text = {
        column.name: [
            None if row[column.name] is None else _shown(row[column.name]) for row in rows
        ]
        for column in columns
    }
    schema = dict.fromkeys([*text, "reason"], pl.String())
    return pl.DataFrame({**text, "reason": list(map(_shown, reasons))}, schema=schema)


def _shown(value: Any) -> str:
    """A value as text that can be kept: half a character (a lone surrogate) is spelt out.

    >>> _shown("a\\ud800")
    'a\\\\ud800'
    """
    return str(value).encode(errors="backslashreplace").decode()


def timeless_as_text(stream: Stream, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of a stream of which a time is none, as text with that reason."""
    rejected = as_dicts(rows)
    wrong = [next(on for on in stream.times if not _is_time(row[on])) for row in rejected]
    pairs = zip(wrong, rejected, strict=True)
    reasons = [f"{on}: {row[on]!r} is not a valid time" for on, row in pairs]
    return as_text(rejected, stream.arriving, reasons)


def _is_time(value: Any) -> bool:
    return isinstance(value, int) and BEGINNING < value < END


def check_columns(stream: Stream, rows: Rows) -> None:
    """Raise MalformedRow unless the rows have the stream's columns, in any order."""
    wanted = [column.name for column in stream.arriving]
    expected = frozenset(wanted)
    if isinstance(rows, pl.DataFrame):
        shapes = {frozenset(rows.columns)}
    else:
        _check_are_dicts(stream, rows, wanted)
        shapes = {frozenset(row) for row in rows}
    for names in shapes - {expected}:
        missing = [name for name in wanted if name not in names]
        extra = sorted(names - expected)
        wrong = [f"no column `{name}`" for name in missing]
        wrong += [f"an unknown column `{name}`" for name in extra]
        raise MalformedRow(
            stream.name,
            f"rows for `{stream.name}` have {' and '.join(wrong)}",
            hint=suggest(extra[0], wanted) if extra else "give NULLs as None",
        )


def _check_are_dicts(stream: Stream, rows: Any, wanted: Sequence[str]) -> None:
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
        raise MalformedRow(
            stream.name,
            f"what was given for `{stream.name}` is not a list of rows: it is a "
            f"{type(rows).__name__}",
            hint="give a list of dicts, or a Polars DataFrame",
        )
    if all(issubclass(kind, Mapping) for kind in set(map(type, rows))):
        return
    row = next(row for row in rows if not isinstance(row, Mapping))
    raise MalformedRow(
        stream.name,
        f"`{stream.name}` was given the row {row!r}, which is not a dict of its columns "
        f"{', '.join(wanted)}",
        hint="give a list of dicts, or a Polars DataFrame",
    )


def conform_values(values: pl.Series | Sequence[Any], type_: Type) -> pl.Series:
    """A column or Python values in a column's type; NULL where one does not fit.

    >>> conform_values([1, 2.5, "3", None, "x"], Type.INT).to_list()
    [1, None, 3, None, None]
    """
    if isinstance(values, pl.Series):
        return conform_column(values, type_)
    if type_.is_nested:
        return conform_nested(values, type_, conform_values)
    if isinstance(type_, DecimalType):
        values = [each.text if isinstance(each, WrittenFloat) else each for each in values]
    conformed: list[Any] = [None] * len(values)
    alike: dict[type, list[int]] = {}
    for place, value in enumerate(values):
        if value is not None:
            alike.setdefault(type(value), []).append(place)
    # A column has one type, so values are looked at in groups that have one.
    pending = list(alike.values())
    while pending:
        places = pending.pop()
        try:
            group = _series([values[place] for place in places])
        except (TypeError, ValueError, OverflowError):
            # Something among them is beyond any column; what it is shows when each is alone.
            if len(places) > 1:
                pending += [[place] for place in places]
            continue
        column = conform_column(group, type_)
        if len(places) == len(values):
            return column
        for place, value in zip(places, column, strict=True):
            conformed[place] = value
    return pl.Series(conformed, dtype=polars_type(type_))


def _series(values: list[Any]) -> pl.Series:
    if isinstance(values[0], datetime):
        return pl.Series([to_ticks(value) for value in values], dtype=pl.Datetime("us"))
    if isinstance(values[0], WrittenFloat):
        return pl.Series([float(value) for value in values])
    if isinstance(values[0], np.generic):
        return pl.Series([value.item() for value in values])
    return pl.Series(values)


def conform_column(values: pl.Series, type_: Type) -> pl.Series:
    """A column in another type; NULL where a value does not fit."""
    target, given = polars_type(type_), values.dtype
    conformed: pl.Series
    if given == pl.Null() or (given == target and not type_.is_time):
        conformed = values.cast(target)
    elif type_.is_nested:
        conformed = conform_parts(values, type_, conform_values)
    elif isinstance(type_, DecimalType):
        conformed = conform_decimals(values, type_)
    elif isinstance(given, pl.Categorical | pl.Enum):
        conformed = conform_column(values.cast(pl.String()), type_)
    elif given == pl.String() and (plain := from_plain_text(values, type_)) is not None:
        conformed = plain
    elif given == pl.String() and castable(Type.STRING, type_):
        read = compile_expression(Cast(Ref("value", Type.STRING), type_))
        conformed = values.to_frame("value").select(read).to_series()
        if type_.is_integer:
            conformed = conformed.set(~_is_whole(values), None)
    elif type_.is_time and isinstance(given, pl.Datetime | pl.Date):
        conformed = values.dt.epoch("us")
    elif type_ is Type.INTERVAL and isinstance(given, pl.Duration):
        conformed = values.dt.total_microseconds()
    elif type_.is_integer and (given.is_float() or given.is_decimal()):
        conformed = values.cast(target, strict=False)
        conformed = conformed.set(conformed.cast(given) != values, None)
    elif (given.is_numeric() and type_.is_numeric) or (
        given.is_integer() and type_ is Type.INTERVAL
    ):
        conformed = values.cast(target, strict=False)
    else:
        conformed = pl.Series([None] * len(values), dtype=target)
    return conformed


def _is_whole(texts: pl.Series) -> pl.Series:
    """Where a text that is a number has no fraction: a cast would cut it off."""
    numbers = texts.str.strip_chars().cast(pl.Float64(), strict=False)
    whole: pl.Series = numbers == numbers.floor()
    return whole.fill_null(True)


def _rejected(given: pl.Series | list[Any], conformed: pl.Series) -> list[int]:
    """Places where a value was given and none is left."""
    if not conformed.null_count():
        return []
    if not isinstance(given, pl.Series):
        given = pl.Series([None if value is None else True for value in given])
    return (conformed.is_null() & given.is_not_null()).arg_true().to_list()


def _reason(column: Column, value: Any) -> str:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    more = number_without_unit(column) if column.type.is_time and is_number else ""
    return f"{column.name}: {value!r} is not a valid {column.type}{more}"


def number_without_unit(column: Column) -> str:
    """Why a number is no time, and what to declare instead."""
    return (
        f": a number may count milliseconds or anything else; declare {column.name} BIGINT, and "
        f"event_ts AS timestamp_millis({column.name})"
    )
