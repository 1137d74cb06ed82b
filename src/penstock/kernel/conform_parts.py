"""Conforming what has parts: arrays, maps and structs; and decimals.

A value conforms if all its parts do: one that does not makes the whole value malformed. A struct
may lack fields, which are NULL then, and may have others, which are left out; names count in any
case. A map may come as an object of JSON, or as a list of entries.

Columns of files are converted as a whole, part by part. Python's values are looked at one by one,
where they are not already what Polars makes of the type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from penstock.kernel.decimals import of_units, rescaled, units
from penstock.kernel.expressions.decimal_casts import read_decimals
from penstock.kernel.types import polars_type
from penstock.model.types import ArrayType, DecimalType, MapType, StructType, Type

Conform = Callable[[pl.Series | Sequence[Any], Type], pl.Series]


def conform_decimals(values: pl.Series, of: DecimalType) -> pl.Series:
    """Numbers and text as decimals, where no digit is lost.

    >>> conform_decimals(pl.Series(["1.5", "1.255", "1e2", "x"]), DecimalType(5, 2)).to_list()
    [Decimal('1.50'), None, Decimal('100.00'), None]
    """
    given = values.dtype
    if isinstance(given, pl.Decimal):
        exact = DecimalType(given.precision or 38, given.scale)
        found = rescaled(values, exact, of)
        if of.scale >= exact.scale:
            return found
        back = rescaled(found, of, DecimalType(38, exact.scale))
        return _where(units(back) == units(values), found)
    if given.is_integer():
        wide = of_units(values.cast(pl.Int128), DecimalType(38, 0))
        return rescaled(wide, DecimalType(38, 0), of)
    if given.is_float():
        finite = pl.select(pl.when(values.is_finite()).then(values)).to_series()
        return conform_decimals(finite.cast(pl.String), of)
    if given == pl.String():
        # Digits behind those that the type has must be zeros.
        found = read_decimals(values, of)
        cut = values.str.extract(rf"\.[0-9]{{{of.scale}}}([0-9]*)").fill_null("")
        is_exact = cut.str.strip_chars("0") == ""
        return _where(is_exact, found)
    return pl.Series(values.name, [None] * len(values), dtype=polars_type(of))


def _where(condition: pl.Series, values: pl.Series) -> pl.Series:
    return pl.select(pl.when(condition).then(values).alias(values.name)).to_series()


def conform_parts(values: pl.Series, of: Type, conform: Conform) -> pl.Series:
    """A column of arrays, maps or structs; NULL where a part does not fit."""
    found, bad = _column(values, of, conform)
    return _where(~pl.Series(bad), found) if bad.any() else found


def _column(values: pl.Series, of: Type, conform: Conform) -> tuple[pl.Series, np.ndarray]:
    """The column, and where a value is malformed."""
    none = values.is_null().to_numpy()
    match of:
        case ArrayType() if isinstance(values.dtype, pl.List | pl.Array):
            lists = values.cast(pl.List(values.dtype.inner))
            return _lists(lists, none, lambda parts: _column(parts, of.element, conform))
        case MapType() if isinstance(values.dtype, pl.Map | pl.List):
            return _maps(values, none, of, conform)
        case MapType() if isinstance(values.dtype, pl.Struct):
            return _map_of_struct(values, none, of, conform)
        case StructType() if isinstance(values.dtype, pl.Struct):
            return _struct(values, none, of, conform)
    if of.is_nested:
        nothing = pl.Series(values.name, [None] * len(values), dtype=polars_type(of))
        return nothing, ~none
    found = conform(values, of)
    return found, found.is_null().to_numpy() & ~none


Parts = Callable[[pl.Series], tuple[pl.Series, np.ndarray]]


def _lists(values: pl.Series, none: np.ndarray, convert: Parts) -> tuple[pl.Series, np.ndarray]:
    """Lists of converted parts; one that has a malformed part is so itself."""
    lengths = values.list.len().fill_null(0).to_numpy().astype(np.int64)
    owner = np.repeat(np.arange(len(values)), lengths)
    parts = values.filter(pl.Series(lengths > 0)).explode()
    converted, bad = convert(parts)
    rows = pl.DataFrame([pl.Series("owner", owner), converted.alias("part")])
    packed = rows.group_by("owner", maintain_order=True).agg("part")
    everyone = pl.DataFrame({"owner": np.arange(len(values))})
    found = everyone.join(packed, on="owner", how="left", maintain_order="left")["part"]
    empty = pl.Series([[]], dtype=pl.List(converted.dtype))
    found = pl.select(
        pl.when(pl.Series(none))
        .then(None)
        .when(pl.Series(lengths == 0))
        .then(pl.lit(empty).first())
        .otherwise(found)
        .alias(values.name)
    ).to_series()
    malformed = np.zeros(len(values), dtype=np.bool_)
    malformed[owner[bad]] = True
    return found, malformed


def _maps(
    values: pl.Series, none: np.ndarray, of: MapType, conform: Conform
) -> tuple[pl.Series, np.ndarray]:
    if isinstance(values.dtype, pl.Map):
        entry = pl.Struct({"key": values.dtype.key, "value": values.dtype.value})
        values = values.cast(pl.List(entry))
    inner = getattr(values.dtype, "inner", None)
    names = [field.name for field in inner.fields] if isinstance(inner, pl.Struct) else []
    if names != ["key", "value"]:
        nothing = pl.Series(values.name, [None] * len(values), dtype=polars_type(of))
        return nothing, ~none

    def convert(entries: pl.Series) -> tuple[pl.Series, np.ndarray]:
        pair = StructType((("key", of.key), ("value", of.of)))
        found, bad = _column(entries, pair, conform)
        return found, bad | found.struct.field("key").is_null().to_numpy()

    found, bad = _lists(values, none, convert)
    return found.cast(polars_type(of)), bad


def _map_of_struct(
    values: pl.Series, none: np.ndarray, of: MapType, conform: Conform
) -> tuple[pl.Series, np.ndarray]:
    """Objects of JSON that were read as structs: a field that is NULL may not have been there."""
    rows = [None if row is None else dict(row) for row in values.to_list()]
    kept = [
        None if row is None else {key: value for key, value in row.items() if value is not None}
        for row in rows
    ]
    found = conform(kept, of)
    return found, found.is_null().to_numpy() & ~none


def _struct(
    values: pl.Series, none: np.ndarray, of: StructType, conform: Conform
) -> tuple[pl.Series, np.ndarray]:
    given = {name.lower(): name for name in values.struct.fields}
    malformed = np.zeros(len(values), dtype=np.bool_)
    columns = []
    for name, part in of.fields:
        if name.lower() in given:
            column, bad = _column(values.struct.field(given[name.lower()]), part, conform)
            malformed |= bad & ~none
        else:
            column = pl.Series([None] * len(values), dtype=polars_type(part))
        columns.append(column.alias(name))
    packed = pl.DataFrame(columns).select(pl.struct(pl.all()).alias(values.name)).to_series()
    return (_where(~pl.Series(none), packed) if none.any() else packed), malformed


def conform_nested(values: Sequence[Any], of: Type, conform: Conform) -> pl.Series:
    """Python's lists and dicts as a column; NULL where one does not fit."""
    converted, bad = _python(values, of, conform)
    kept = [None if wrong else value for value, wrong in zip(converted, bad, strict=True)]
    return pl.Series(kept, dtype=polars_type(of), strict=False)


def _python(values: Sequence[Any], of: Type, conform: Conform) -> tuple[list[Any], list[bool]]:
    """Values of a type as Polars takes them, and which of them are malformed."""
    match of:
        case ArrayType():
            shapes = [value if isinstance(value, list | tuple) else None for value in values]
            parts = [part for value in shapes for part in value or ()]
            converted, bad = _python(parts, of.element, conform)
            return _regrouped(values, shapes, converted, bad, list)
        case MapType():
            pairs = [_entries(value) for value in values]
            flat = [pair for each in pairs for pair in each or ()]
            keys, bad_keys = _python([key for key, _ in flat], of.key, conform)
            parts, bad_parts = _python([part for _, part in flat], of.of, conform)
            bad = [a or b or k is None for a, b, k in zip(bad_keys, bad_parts, keys, strict=True)]
            converted = [{"key": k, "value": v} for k, v in zip(keys, parts, strict=True)]
            return _regrouped(values, pairs, converted, bad, list)
        case StructType():
            return _python_structs(values, of, conform)
    found = conform(values, of)
    wrong = [value is not None and part is None for value, part in zip(values, found, strict=True)]
    return found.to_list(), wrong


def _entries(value: Any) -> list[tuple[Any, Any]] | None:
    if isinstance(value, dict):
        return list(value.items())
    is_list = isinstance(value, list | tuple)
    if is_list and all(isinstance(each, dict) and set(each) == {"key", "value"} for each in value):
        return [(each["key"], each["value"]) for each in value]
    return None


def _regrouped(
    values: Sequence[Any],
    shapes: Sequence[Any],
    parts: list[Any],
    bad: list[bool],
    make: Callable[[list[Any]], Any],
) -> tuple[list[Any], list[bool]]:
    """Parts as those of their values again."""
    found, wrong, at = [], [], 0
    for value, shape in zip(values, shapes, strict=True):
        count = len(shape or ())
        found.append(None if shape is None else make(parts[at : at + count]))
        wrong.append((shape is None and value is not None) or any(bad[at : at + count]))
        at += count
    return found, wrong


def _python_structs(
    values: Sequence[Any], of: StructType, conform: Conform
) -> tuple[list[Any], list[bool]]:
    rows = [
        {str(key).lower(): part for key, part in value.items()} if isinstance(value, dict) else None
        for value in values
    ]
    wrong = [row is None and value is not None for row, value in zip(rows, values, strict=True)]
    columns = {}
    for name, part in of.fields:
        given = [row.get(name.lower()) if row else None for row in rows]
        columns[name], bad = _python(given, part, conform)
        wrong = [a or b for a, b in zip(wrong, bad, strict=True)]
    found = [
        None if row is None else {name: column[place] for name, column in columns.items()}
        for place, row in enumerate(rows)
    ]
    return found, wrong
