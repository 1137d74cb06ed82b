"""Rows as Python values, also where Python has none.

A datetime ends with the year 9999, and begins with the year 1; a column of times reaches further in
both directions, and a window that begins in 9999 may end later. Where a column has such a time, its
times come as text, written like the others: `+10000-01-01 00:00:00`.
"""

from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl

from penstock.model.timestamps import BEGINNING, DAY, END

_DAYS = tuple((day - date(1970, 1, 1)).days for day in (date.min, date.max))


def readable(rows: pl.DataFrame) -> pl.DataFrame:
    """The same rows, with times as text in columns that have some beyond Python's."""
    return rows.with_columns(
        _as_text(column) for column in rows.get_columns() if _is_beyond_python(column)
    )


def as_dicts(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows by the names of their columns."""
    return readable(rows).to_dicts()


def within_time(ticks: pl.Expr) -> pl.Expr:
    """The time, or NULL beyond the ends of time: no calendar reaches further."""
    return pl.when(ticks.is_between(BEGINNING, END)).then(ticks)


def is_within_time(ticks: pl.Series) -> bool:
    """Whether none of these times is beyond the ends of time."""
    if ticks.null_count() == len(ticks):
        return True
    plain = ticks.drop_nulls().to_numpy() if ticks.null_count() else ticks.to_numpy()
    return bool(plain.min() >= BEGINNING and plain.max() <= END)


def _is_beyond_python(column: pl.Series) -> bool:
    if column.dtype == pl.Date:
        days = column.to_physical().cast(pl.Int64)
    elif column.dtype == pl.Datetime("us"):
        days = column.to_physical() // DAY
    else:
        return False
    first, last = _DAYS
    return not days.is_between(first, last).all()


def _as_text(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Date:
        days = column.to_physical().cast(pl.Int64)
        day = pl.when(days.is_between(BEGINNING // DAY, END // DAY)).then(column)
        text = day.dt.to_string("%Y-%m-%d")
    else:
        time = within_time(pl.lit(column.to_physical())).cast(pl.Datetime("us"))
        text = time.dt.to_string("%Y-%m-%d %H:%M:%S%.6f").str.replace(r"\.000000$", "")
    return pl.select(text.alias(column.name)).to_series()
