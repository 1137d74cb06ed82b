"""Conforming a source's columns to a stream, on the JVM.

What `kernel/conform.py` does in this process, as Spark expressions: a value conforms if it can be
converted to the column's type without changing what it says. Text does where it can be read so. A
row with a value that does not conform, or a line that is not a row at all, is *malformed*: it
travels beside the good rows, in MALFORMED_COLUMN, as a JSON array of its values as text and the
reason. The exchange takes it out there. A frame whose columns all have the right types has no such
column.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import polars as pl
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.errors import MalformedRow, TypeMismatch
from penstock.kernel.conform import number_without_unit
from penstock.kernel.rejected import NO_ROW
from penstock.model.schema import suggest
from penstock.model.streams import Stream
from penstock.model.types import DecimalType, Type, common_type

MALFORMED_COLUMN = "penstock_malformed"

_RAW, _CONFORMED = "penstock_raw_", "penstock_fitted_"
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_FRACTIONS = ("float", "double")
_NUMBER = "^[-+]?[0-9]+([.][0-9]*)?([eE][-+]?[0-9]+)?$"


def conform(
    frame: DataFrame,
    stream: Stream,
    *,
    no_row: str | None = None,
    formats: Mapping[Type, str] | None = None,
    numbers: bool = False,
) -> DataFrame:
    """The stream's columns of a frame in their types, and MALFORMED_COLUMN if any row may not fit.

    `no_row` names a column that holds the text of what is not a row. `formats` says how times are
    written where they are text, in Spark's patterns; `numbers`: whether a text may have been a
    number before.
    """
    given = _given(frame, stream)
    _check_parts(stream, given)
    doubtful = [
        place
        for place, column in enumerate(stream.arriving)
        if not _always_fits(given[place][1], column.type)
    ]
    if not doubtful and no_row is None:
        return frame.select(
            *(
                F.col(f"`{name}`").cast(str(column.type)).alias(column.name)
                for (name, _), column in zip(given, stream.arriving, strict=True)
            )
        )
    raws = [F.col(f"`{name}`") for name, _ in given]
    conformed = [
        _fitted(raw, of, column.type, formats or {}, numbers)
        for raw, (_, of), column in zip(raws, given, stream.arriving, strict=True)
    ]
    # In two steps: what is both looked at and passed on is computed once.
    both = frame.select(
        *(raw.alias(f"{_RAW}{place}") for place, raw in enumerate(raws)),
        *(value.alias(f"{_CONFORMED}{place}") for place, value in enumerate(conformed)),
        (F.col(no_row) if no_row else F.lit(None).cast("string")).alias(f"{_RAW}line"),
    )
    return both.select(
        *(
            F.col(f"{_CONFORMED}{place}").alias(column.name)
            for place, column in enumerate(stream.arriving)
        ),
        _malformed(stream, doubtful, [of for _, of in given], numbers).alias(MALFORMED_COLUMN),
    )


def texts(malformed: Iterable[str], names: Sequence[str]) -> pl.DataFrame:
    """Malformed rows as they are kept: their values as text, and the reason."""
    schema = dict.fromkeys([*names, "reason"], pl.String())
    return pl.DataFrame([json.loads(row) for row in malformed], schema=schema, orient="row")


def _given(frame: DataFrame, stream: Stream) -> list[tuple[str, str]]:
    """For each column of the stream, what it is called in the frame, and its type there."""
    names = {name.lower(): (name, of) for name, of in frame.dtypes}
    found = []
    for column in stream.arriving:
        if column.name.lower() not in names:
            raise missing(stream, column.name, frame.columns)
        found.append(names[column.name.lower()])
    return found


def missing(stream: Stream, column: str, given: Iterable[str]) -> MalformedRow:
    """A column that a stream declares and its source lacks."""
    return MalformedRow(
        stream.name,
        f"stream `{stream.name}` declares `{column}`, which its source does not have",
        hint=suggest(column, list(given)),
    )


def _always_fits(given: str, wanted: Type) -> bool:
    """Whether no value of one of Spark's types can be lost on the way to one of ours."""
    target = wanted.value.lower()
    if given == target or (given == "timestamp_ntz" and wanted is Type.TIMESTAMP):
        return True
    if wanted.is_nested or isinstance(wanted, DecimalType):
        return is_type(given) and common_type(Type(given), wanted) is wanted
    if given in _WHOLE:
        return target in _FRACTIONS or (
            target in _WHOLE and _WHOLE.index(target) >= _WHOLE.index(given)
        )
    return (given, target) in {("float", "double"), ("date", "timestamp"), ("string", "binary")}


def is_type(text: str) -> bool:
    """Whether one of Spark's types is one of ours."""
    try:
        return bool(str(Type(text)))
    except TypeMismatch:
        return False


def _check_parts(stream: Stream, given: Sequence[tuple[str, str]]) -> None:
    """Refuse columns with parts that Spark brings as something else: what is lost would be NULL."""
    for column, (_, of) in zip(stream.arriving, given, strict=True):
        if column.type.is_nested and not _always_fits(of, column.type):
            raise MalformedRow(
                stream.name,
                f"stream `{stream.name}` declares `{column.name}` as {column.type}, and Spark "
                f"reads it as {of}",
                hint="declare the type that it has; JSON is read with its parts from files",
            )


def _fitted(
    raw: Column, given: str, wanted: Type, formats: Mapping[Type, str], numbers: bool
) -> Column:
    """The value in the wanted type; NULL if it does not fit."""
    target = str(wanted)
    if _always_fits(given, wanted):
        return raw.cast(target)
    if given == "string" and wanted in formats:
        return F.try_to_timestamp(raw, F.lit(formats[wanted])).cast(target)
    if wanted.is_integer and given in (*_FRACTIONS, "string"):
        # '2.0' says 2, and so does 2e0; '2.5' says no whole number.
        number = raw.try_cast("double")
        whole = F.when(number == F.floor(number), number.try_cast(target))
        return whole if given in _FRACTIONS else F.coalesce(raw.try_cast(target), whole)
    if isinstance(wanted, DecimalType) and (given in _FRACTIONS or given == "string"):
        # Digits that the type has no room for must not be lost.
        value = raw.try_cast(target)
        return F.when(value.cast("double") == raw.try_cast("double"), value)
    if wanted.is_time and given in (*_WHOLE, *_FRACTIONS):
        return F.lit(None).cast(target)  # of a number nobody knows what it counts
    if wanted.is_time and given == "string" and numbers:
        return F.when(~raw.rlike(_NUMBER), raw.try_cast(target))
    if wanted is Type.STRING and given not in ("date", "timestamp", "timestamp_ntz", "binary"):
        return raw.cast("string")
    return raw.try_cast(target)


def _malformed(
    stream: Stream, doubtful: Sequence[int], given: Sequence[str], numbers: bool
) -> Column:
    line = F.col(f"{_RAW}line")
    reason = F.when(line.isNotNull(), F.concat(F.lit(NO_ROW), line))
    for place in doubtful:
        column = stream.arriving[place]
        raw, value = F.col(f"{_RAW}{place}"), F.col(f"{_CONFORMED}{place}")
        before, after = F.lit(f"{column.name}: '"), F.lit(f"' is not a valid {column.type}")
        why = F.concat(before, raw.cast("string"), after)
        if column.type.is_time and (numbers or given[place] in (*_WHOLE, *_FRACTIONS)):
            more = F.lit(number_without_unit(column))
            is_number = raw.cast("string").rlike(_NUMBER)
            why = F.when(is_number, F.concat(why, more)).otherwise(why)
        reason = reason.when(raw.isNotNull() & value.isNull(), why)
    raws = [
        F.when(line.isNull(), F.col(f"{_RAW}{place}").cast("string"))
        for place in range(len(stream.arriving))
    ]
    return F.when(reason.isNotNull(), F.to_json(F.array(*raws, reason)))
