"""Columns as the code of users sees them, and back.

Times in blocks are ticks; code of users gets a TIMESTAMP as a Polars datetime in UTC without a
zone, and an INTERVAL as a duration, so that single values are Python's datetime and timedelta.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl

from penstock.errors import PenstockError, UserCodeError
from penstock.kernel.types import polars_type
from penstock.model.schema import Column
from penstock.model.types import Type
from penstock.model.user_defined import UserDefined

_SEEN: dict[Type, pl.DataType] = {
    Type.TIMESTAMP: pl.Datetime("us"),
    Type.INTERVAL: pl.Duration("us"),
}


def seen_type(of: Type) -> pl.DataType:
    """The type of a column that is handed to code of users."""
    return _SEEN.get(of) or polars_type(of)


def seen(column: pl.Series, of: Type) -> pl.Series:
    """A column of a block, for code of users."""
    return column.cast(_SEEN[of]) if of in _SEEN else column


def kept(given: Any, of: Type, height: int, what: str) -> pl.Series:
    """What code of users gave, as a column of a block; UserCodeError if it is none.

    `what` tells whose answer it is.
    """
    wanted = seen_type(of)
    try:
        if isinstance(given, pl.Series):
            column = given if given.dtype == wanted else given.cast(wanted, strict=True)
        elif isinstance(given, np.ndarray):
            column = pl.Series(given).cast(wanted, strict=True)
        else:
            column = values_as(list(given), wanted)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as cause:
        raise UserCodeError(
            f"{what} gave what is not {of}: {_short(given)} ({_first(cause)})"
        ) from cause
    if len(column) != height:
        raise UserCodeError(
            f"{what} gave {len(column):,} values for {height:,}",
            hint="give one value for each, in the same order",
        )
    return column.cast(polars_type(of)) if of in _SEEN else column


def values_as(values: list[Any], wanted: pl.DataType) -> pl.Series:
    """Python values as a column; whole numbers may stand where fractions may."""
    if wanted.is_float():
        values = [float(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in values]
    return pl.Series(values, dtype=wanted, strict=True)


@contextmanager
def blamed(function: UserDefined, method: str, shown: str) -> Iterator[None]:
    """Errors of users' code name the function, and what it was called with."""
    try:
        yield
    except PenstockError:
        raise
    except Exception as cause:
        raise failed(function, method, shown, cause) from cause


def failed(function: UserDefined, method: str, shown: str, cause: Exception) -> UserCodeError:
    """The error of a call that has raised another."""
    where = f" in `{method}`" if method else ""
    return UserCodeError(
        f"{function.kind} `{function.name}` failed{where} on {shown}: "
        f"{type(cause).__name__}: {_first(cause)}",
        hint="nothing of this batch was kept: mend the function and declare it again",
    )


def shown_row(columns: Sequence[Column], values: Sequence[Any]) -> str:
    """A row by its names.

    >>> shown_row([Column("x", Type.INT), Column("y", Type.STRING)], [1, "a"])
    "the row x = 1, y = 'a'"
    """
    pairs = zip(columns, values, strict=True)
    return f"the row {', '.join(f'{c.name} = {_short(v)}' for c, v in pairs)}"


def _first(cause: BaseException) -> str:
    return str(cause).strip().partition("\n")[0]


def _short(value: Any) -> str:
    text = repr(value.to_list()[:3] if isinstance(value, pl.Series) else value)
    return text if len(text) <= 80 else f"{text[:80]}…"
