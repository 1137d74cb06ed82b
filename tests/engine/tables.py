"""Rows as text that people read: a line of names, then a line a row.

    item  price  ts
    lamp  42     10:00:05
    NULL  7      1969-12-31T23:59:30

Columns are separated by blanks, so a value has none. A time of day is one of 2026-01-01.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from penstock.model.schema import Column
from penstock.model.types import Type

DAY = date(2026, 1, 1)


def read_table(text: str, columns: Iterable[Column]) -> list[dict[str, Any]]:
    """The rows of a text, in the types of the columns of these names."""
    types = {column.name: column.type for column in columns}
    lines = [line.split() for line in text.splitlines() if line.strip()]
    names, rows = lines[0], lines[1:]
    return [
        {name: _value(word, types[name]) for name, word in zip(names, row, strict=True)}
        for row in rows
    ]


def write_table(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """Rows as text, sorted by their values from left to right, as far as they have an order."""
    lines = [[_word(row[name]) for name in names] for row in _sorted(rows, names)]
    table = [list(names), *lines]
    widths = [max(len(line[place]) for line in table) for place in range(len(names))]
    padded = (
        "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True))
        for line in table
    )
    return "".join(f"{line.rstrip()}\n" for line in padded)


def _sorted(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Mapping[str, Any]]:
    # By window first: that is the order in which results come.
    last = ("window_end", "window_start")
    order = [name for name in last if name in names] + [n for n in names if n not in last]
    return sorted(rows, key=lambda row: [(row[n] is None, row[n] or type(row[n])()) for n in order])


def _value(word: str, of: Type) -> Any:
    if word == "NULL":
        return None
    if of is Type.TIMESTAMP:
        is_moment = "T" in word
        return datetime.fromisoformat(word if is_moment else f"{DAY}T{word}")
    if of is Type.STRING:
        return word
    if of is Type.BOOLEAN:
        return {"true": True, "false": False}[word]
    return float(word) if of in (Type.DOUBLE, Type.FLOAT) else int(word)


def _word(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return str(value.time()) if value.date() == DAY else value.isoformat()
    if isinstance(value, float):
        return repr(float(f"{value:.10g}"))  # the last digits are nobody's business
    return str(value)
