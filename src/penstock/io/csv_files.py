"""CSV files as text, a block at a time.

Columns are found by the names in the first line, or have the declared ones in their order
(`header 'false'`). A field with nothing in it is NULL, and `""` is not. What is not a row comes
as `rejected`: a line with too few or too many fields, and one with bytes that are no UTF-8. A file
with nothing in it has no rows.

Options have Spark's names, and mean what they mean there.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv

#: Bytes that are read at a time, at least and at most; a line must lie within them.
LEAST, MOST = 1 << 20, (1 << 31) - 1


@dataclass(frozen=True)
class Style:
    """How a file is written."""

    sep: str = ","
    quote: str = '"'
    escape: str | None = None  # None: a quote within quotes is written twice
    null: str = ""
    names: tuple[str, ...] | None = None  # None: they stand in the first line


#: Options that say how a file is written, and where they belong.
OPTIONS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "sep": lambda text: {"sep": text},
    "delimiter": lambda text: {"sep": text},
    "quote": lambda text: {"quote": text},
    "escape": lambda text: {"escape": None if text == '"' else text},
    "nullvalue": lambda text: {"null": text},
    "header": lambda text: {},
    "multiline": lambda text: {},  # a field may always go on in the next line here
}


def style_of(options: Mapping[str, str], columns: Sequence[str]) -> Style:
    """The style that options ask for, by their names in small letters."""
    chosen: dict[str, Any] = {}
    for name, text in options.items():
        chosen |= OPTIONS[name](text)
    if options.get("header", "true").lower() != "true":
        chosen["names"] = tuple(columns)
    return Style(**chosen)


def cannot_be(option: str, text: str) -> str:
    """What an option needs instead of this value; empty: it can have it."""
    if option in ("header", "multiline"):
        return "" if text.lower() in ("true", "false") else "'true' or 'false'"
    if option not in ("sep", "delimiter", "quote", "escape") or (option == "quote" and not text):
        return ""  # without a quote nothing is quoted
    return "" if len(text) == 1 and text.isascii() and text not in "\r\n" else "one ASCII character"


def read_csv(
    file: Path, rows_per_block: int, style: Style
) -> Iterator[tuple[pl.DataFrame, tuple[str, ...]]]:
    """Rows and rejected lines of a file."""
    names = names_in(file, style)
    if not names:
        return
    size = max(LEAST, rows_per_block * 64)
    given = refused = 0
    while True:
        try:
            seen = said = 0
            for rows, bad in _read(file, size, names, style):
                # What was given before a longer line was met is not given again.
                new, told = rows.slice(max(0, given - seen)), bad[max(0, refused - said) :]
                seen, said = seen + rows.height, said + len(bad)
                given, refused = max(given, seen), max(refused, said)
                for part in new.iter_slices(rows_per_block):
                    yield part, tuple(told)
                    told = []
                if told:
                    yield new.clear(), tuple(told)
            return
        except pa.ArrowInvalid as cause:
            if "Empty CSV file" in str(cause):  # a line of names that nothing ends
                yield _without_rows(names), ()
                return
            if "straddling" not in str(cause) or size >= MOST:
                raise
            size = min(size * 8, MOST)


def names_in(file: Path, style: Style) -> list[str]:
    """The names of a file's columns; none if there is nothing in it."""
    # Bytes that are no text end a file only if they stand in its first line.
    with (
        pa.input_stream(file) as data,  # which unpacks .gz and the like, as `open_csv` does
        TextIOWrapper(data, "utf-8-sig", errors="surrogateescape", newline="") as text,
    ):
        first = next((line for line in _parsed(text, style) if line), [])
    if style.names is not None and first:
        return list(style.names)
    return [name.encode(errors="surrogateescape").decode() for name in first]


def _parsed(text: Any, style: Style) -> Iterator[list[str]]:
    limit = csv.field_size_limit(MOST)
    try:
        yield from csv.reader(
            text,
            delimiter=style.sep,
            quotechar=style.quote or None,
            quoting=csv.QUOTE_MINIMAL if style.quote else csv.QUOTE_NONE,
            doublequote=style.escape is None,
            escapechar=style.escape,
        )
    finally:
        csv.field_size_limit(limit)


def _read(
    file: Path, size: int, names: list[str], style: Style
) -> Iterator[tuple[pl.DataFrame, list[str]]]:
    rejected: list[str] = []

    def reject(row: pa.csv.InvalidRow) -> str:
        rejected.append(row.text or f"a line of {row.actual_columns} columns")
        return "skip"

    reader = pa.csv.open_csv(
        file,
        read_options=pa.csv.ReadOptions(
            block_size=size, column_names=names if style.names is not None else None
        ),
        parse_options=pa.csv.ParseOptions(
            delimiter=style.sep,
            quote_char=style.quote or False,
            double_quote=style.escape is None,
            escape_char=style.escape or False,
            newlines_in_values=True,
            invalid_row_handler=reject,
        ),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.binary()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[style.null],
        ),
    )
    for batch in reader:
        rows, bad = _as_text(pa.Table.from_batches([batch]))
        bad, rejected[:] = [*rejected, *bad], []
        yield rows, bad
    if rejected:
        yield _without_rows(names), list(rejected)


def _without_rows(names: list[str]) -> pl.DataFrame:
    return pl.DataFrame(schema=dict.fromkeys(names, pl.String()))


def _as_text(table: pa.Table) -> tuple[pl.DataFrame, list[str]]:
    """A table of bytes as text, and the rows that are none."""
    text = pa.schema([(name, pa.string()) for name in table.column_names])
    try:
        return pl.DataFrame(table.cast(text)), []
    except pa.ArrowInvalid:
        is_text = [all(map(_is_text, row.values())) for row in table.to_pylist()]
    bad = table.filter(pa.array([not good for good in is_text])).to_pylist()
    lines = [
        ",".join((value or b"").decode(errors="replace") for value in row.values()) for row in bad
    ]
    return pl.DataFrame(table.filter(pa.array(is_text)).cast(text)), lines


def _is_text(value: bytes | None) -> bool:
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True
