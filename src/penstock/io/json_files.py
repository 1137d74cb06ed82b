"""JSON files, an object a line, a block at a time.

Nearly always all lines of a block have the types that are declared; then Arrow reads the block as a
whole, some seven times as fast as line by line. Where it is in any doubt about a line, all lines of
the block are read one by one, as the values they hold: then a value of another type, or a line that
is no object, concerns its row and no other. Both give the same rows.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.json

from penstock.kernel.conform import Rows, WrittenFloat
from penstock.kernel.types import arrow_type
from penstock.model.schema import Column
from penstock.model.types import ArrayType, DecimalType, StructType, Type

#: Bytes that are read at a time, at least.
LEAST = 1 << 16
#: From here on not every whole number is a floating-point one.
_EXACT = 2.0**53


def read_json(
    file: Path, rows_per_block: int, columns: Sequence[Column], *, has_all: bool
) -> Iterator[tuple[Rows, tuple[str, ...]]]:
    """Rows and lines that are none; rows have the columns, or they are objects as they are.

    With `has_all` these tell whether there is an object that has a column.
    """
    for data in _blocks(file, max(LEAST, rows_per_block * 64)):
        whole = read_at_once(data, columns)
        if whole is not None and not (has_all and _lacks_one(whole)):
            for part in whole.iter_slices(rows_per_block):
                yield part, ()
            continue
        lines = data.split(b"\n")
        exact = any(_has_decimals(column.type) for column in columns)
        for start in range(0, len(lines), rows_per_block):
            yield _line_by_line(lines[start : start + rows_per_block], exact)


def _blocks(file: Path, size: int) -> Iterator[bytes]:
    """Whole lines, about so many bytes of them at a time."""
    # Which unpacks .gz and the like.
    with pa.input_stream(file) as packed, io.BufferedReader(packed) as data:
        while block := data.read(size):
            yield block + data.readline()


def _lacks_one(rows: pl.DataFrame) -> bool:
    return any(column.null_count() == rows.height for column in rows)


def _line_by_line(lines: Sequence[bytes], exact: bool) -> tuple[Rows, tuple[str, ...]]:
    objects = {place: _object(line, exact) for place, line in enumerate(lines) if line.strip()}
    bad = [lines[place] for place, value in objects.items() if value is None]
    return (
        [value for value in objects.values() if value is not None],
        tuple(line.decode(errors="replace").strip() for line in bad),
    )


def _object(line: bytes, exact: bool) -> dict[str, Any] | None:
    try:
        value = json.loads(line, parse_float=WrittenFloat) if exact else json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_at_once(data: bytes, columns: Sequence[Column]) -> pl.DataFrame | None:
    """Lines as one table; None: line by line they may be something else."""
    data = data.strip()
    if not data or not columns or not _is_plain(data):
        return None
    if any(column.type.has_map for column in columns):
        return None  # which Arrow does not read from JSON
    fields = [(column.name, _arrow_type(column.type)) for column in columns]
    table = _parsed(data, pa.schema(fields))
    # A line may be empty, or hold two objects; and one object may take two lines.
    if table is None or table.num_rows != data.count(b"\n") + 1:
        return None
    rows = pl.DataFrame(table.select([column.name for column in columns]))
    is_exact = rows.select((pl.col(pl.Float64).abs().max() < _EXACT).fill_null(True))
    return rows if not is_exact.width or all(is_exact.row(0)) else None


def _has_decimals(of: Type) -> bool:
    return isinstance(of, DecimalType) or any(map(_has_decimals, of.parts))


def _is_plain(data: bytes) -> bool:
    """Whether it is UTF-8 for everybody."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data and not data.startswith(b"\xef\xbb\xbf")


def _parsed(data: bytes, schema: pa.Schema) -> pa.Table | None:
    try:
        return pa.json.read_json(
            pa.BufferReader(data),
            read_options=pa.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            parse_options=pa.json.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore"
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _arrow_type(of: Type) -> pa.DataType:
    """As what a column is read: what does not fit its type is seen later."""
    if of is Type.BOOLEAN:
        return pa.bool_()
    if isinstance(of, DecimalType):
        return arrow_type(of)
    if isinstance(of, ArrayType):
        return pa.list_(_arrow_type(of.element))
    if isinstance(of, StructType):
        return pa.struct([(name, _arrow_type(part)) for name, part in of.fields])
    if of.is_integer:
        return pa.int64()
    return pa.float64() if of in (Type.FLOAT, Type.DOUBLE) else pa.string()
