"""The columns of a stream that declares none, as its first files have them.

    parquet   the schema of the first file that has one
    csv       the names in the first file's header; types by its first rows
    json      the fields of the first objects of the first files, with their parts

What a file's values say is BIGINT, DOUBLE, BOOLEAN, DATE or TIMESTAMP if all of them do, else
STRING; nothing but NULLs is STRING, too. A column of JSON that holds, say, numbers and text has
no type: the row that differs from most is named. Later files are held to these columns like to any
that are declared.
"""

from __future__ import annotations

import io
import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from penstock.errors import MalformedRow, PenstockError
from penstock.io.csv_files import OPTIONS, read_csv, style_of
from penstock.io.files import files_of, reading
from penstock.io.storage.hidden_files import check_regular, is_empty
from penstock.io.storage.storage_path import at_hand
from penstock.io.unreadable import skips_unreadable
from penstock.kernel.types import type_of_arrow
from penstock.model.schema import Column
from penstock.model.streams import Origin, Stream
from penstock.model.types import ArrayType, StructType, Type

#: Rows that are looked at of a file of text, and files.
ROWS, FILES = 1000, 3
#: How deep values may lie within values, for their types to be told.
LEVELS = 50

_WORDS = {
    Type.BIGINT: re.compile(r"[+-]?[0-9]{1,18}"),
    Type.DOUBLE: re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|-?Infinity"),
    Type.BOOLEAN: re.compile("true|false", re.IGNORECASE),
    Type.DATE: re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    Type.TIMESTAMP: re.compile(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
        r"(Z|UTC|[+-][0-9]{2}(:[0-9]{2})?)?"
    ),
}


def infer_columns(name: str, origin: Origin) -> tuple[Column, ...]:
    """The columns that the files of a stream have; MalformedRow if they cannot be told."""
    if origin.format not in ("parquet", "csv", "json") or origin.path is None:
        raise MalformedRow(
            name,
            f"the columns of `{name}` are not known: FROM {origin.format} does not tell them",
            hint=f"declare them: CREATE STREAM {name} (ts TIMESTAMP, …) FROM {origin.format}",
        )
    with at_hand(origin.path) as place:
        skips = skips_unreadable(Stream(name, (), origin=origin))
        there = files_of(place, origin.format, only_regular=not skips)
        readable = (f for f in there if not skips or _can_tell(name, f, origin))
        files = list(islice((file for file in readable if not is_empty(file)), FILES))
        found = _columns(name, files, origin) if files else ()
    if not found:
        raise MalformedRow(
            name,
            f"the columns of `{name}` are not known: `{origin.path}` has no rows of "
            f"{origin.format} yet",
            hint=f"declare them: CREATE STREAM {name} (ts TIMESTAMP, …), or begin when there are",
        )
    return found


def _can_tell(name: str, file: Path, origin: Origin) -> bool:
    """Whether a file can be read as far as is needed to tell its columns."""
    try:
        check_regular([file])
        _columns(name, [file], origin)
    except PenstockError:
        return False
    return True


def _columns(name: str, files: Sequence[Path], origin: Origin) -> tuple[Column, ...]:
    match origin.format:
        case "parquet":
            with reading(files[0], origin.format):
                return _of_parquet(name, files[0])
        case "csv":
            given = origin.lowercase_options
            options = {key: value for key, value in given.items() if key in OPTIONS}
            if options.get("header", "true").lower() != "true":
                raise MalformedRow(
                    name,
                    f"the columns of `{name}` are not known: its files have no header",
                    hint="declare them in the order in which they stand there",
                )
            with reading(files[0], origin.format):
                rows, _ = next(iter(read_csv(files[0], ROWS, style_of(options, ()))), (None, ()))
            if rows is None:
                return ()
            return tuple(Column(each.name, of_texts(each.to_list())) for each in rows)
    found: list[tuple[str, dict[str, Any]]] = []
    for file in files:
        with reading(file, origin.format):
            found += _objects(file)
    for place, value in found:
        if _is_deep(value):
            raise MalformedRow(
                name,
                f"the columns of `{name}` are not known: {place} has values within values, more "
                f"than {LEVELS} levels deep",
                hint=f"declare those that are to be read: CREATE STREAM {name} (ts TIMESTAMP, …)",
            )
    objects = [value for _, value in found]
    try:
        of = of_values(objects)
    except _MixedKinds:
        raise _mixed(name, [place for place, _ in found], objects) from None
    return tuple(Column(*field) for field in of.fields) if isinstance(of, StructType) else ()


def _is_deep(value: Any) -> bool:
    """Whether there are values within values, and so on, further than types are made for."""
    level = [value]
    for _ in range(LEVELS):
        level = [part for each in level for part in _parts_of(each)]
    return bool(level)


def _parts_of(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


class _MixedKinds(Exception):
    """Values of JSON that no type has all of, such as a number and a text."""


def _mixed(name: str, places: Sequence[str], objects: Sequence[dict[str, Any]]) -> MalformedRow:
    """The error that names the first row that differs from most of them."""
    keys = dict.fromkeys(key for row in objects for key in row)
    key = next(key for key in keys if _are_mixed([row.get(key) for row in objects]))
    rows = [(place, row[key]) for place, row in zip(places, objects, strict=True) if key in row]
    # Rows of the most frequent type first; one may be mixed in itself: a list of numbers and text.
    types = [None if _are_mixed([value]) else of_values([value]) for _, value in rows]
    often = Counter(types)
    order = sorted(range(len(rows)), key=lambda n: -often[types[n]] if types[n] else 0)
    values = [rows[n][1] for n in order]
    first = bisect_left(range(len(values)), True, key=lambda n: _are_mixed(values[: n + 1]))
    place, odd = rows[order[first]]
    usual = of_values(values[:first])
    return MalformedRow(
        name,
        f"the columns of `{name}` are not known: `{key}` is {usual} in most rows, and "
        f"{json.dumps(odd, ensure_ascii=False):.100} in {place}",
        hint=f"declare them: CREATE STREAM {name} ({key} {usual}, …); rows with something else are "
        "then rejected as malformed, and counted",
    )


def _are_mixed(values: Sequence[Any]) -> bool:
    try:
        of_values(values)
    except _MixedKinds:
        return True
    return False


def _of_parquet(name: str, file: Path) -> tuple[Column, ...]:
    columns = []
    for field in pa.parquet.read_schema(file):
        of = type_of_arrow(field.type)
        if of is None or of is Type.NULL:
            raise MalformedRow(
                name,
                f"column `{field.name}` of `{file}` is {field.type}, which no query can use",
                hint="declare the columns that are to be read, without this one",
            )
        columns.append(Column(field.name, of))
    return tuple(columns)


def _objects(file: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    """The first objects of a file, with their places."""
    with pa.input_stream(file) as data, io.BufferedReader(data) as lines:
        for number, line in enumerate(islice(lines, ROWS), 1):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue  # it will be malformed when it is read
            if isinstance(value, dict):
                yield f"line {number} of `{file}`", value


def of_texts(texts: Iterable[str | None]) -> Type:
    """The type that all texts can be read as.

    >>> of_texts(["1", None, "22"]), of_texts(["1", "2.5"]), of_texts(["2026-01-01", "x"])
    (<Type.BIGINT: 'BIGINT'>, <Type.DOUBLE: 'DOUBLE'>, <Type.STRING: 'STRING'>)
    """
    known = [text.strip() for text in texts if text is not None]
    fits = (of for of, word in _WORDS.items() if all(map(word.fullmatch, known)))
    return next(fits, Type.STRING) if known else Type.STRING


def of_values(values: Sequence[Any]) -> Type:
    """The type of values of JSON; raises _MixedKinds if there is none.

    >>> of_values([{"a": 1}, {"a": 2.5, "b": ["x", None]}])
    <STRUCT<a: DOUBLE, b: ARRAY<STRING>>>
    """
    known = [value for value in values if value is not None]
    kinds = {type(value) for value in known}
    if kinds == {dict}:
        names = list(dict.fromkeys(name for value in known for name in value))
        parts = [(name, of_values([value.get(name) for value in known])) for name in names]
        return StructType(tuple(parts)) if parts else Type.STRING
    if kinds == {list}:
        return ArrayType(of_values([part for value in known for part in value]))
    if kinds == {str}:
        found = of_texts(known)
        return found if found in (Type.DATE, Type.TIMESTAMP) else Type.STRING
    if not kinds:
        return Type.STRING
    if kinds == {bool}:
        return Type.BOOLEAN
    if not kinds <= {int, float}:
        raise _MixedKinds
    return Type.DOUBLE if float in kinds else Type.BIGINT


def shown(columns: Iterable[Column]) -> str:
    """Columns as they would be declared."""
    return "(" + ", ".join(map(str, columns)) + ")"
