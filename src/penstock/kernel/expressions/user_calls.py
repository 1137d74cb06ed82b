"""Functions of users: their code over the columns of a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from penstock.errors import PenstockError
from penstock.kernel.types import polars_type
from penstock.kernel.user_columns import failed, kept, seen, shown_row
from penstock.model.user_defined import UserFunction, code_of


def user_call(function: UserFunction, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """A function applied to compiled arguments of the types that it declares."""
    of = polars_type(function.returns)

    def over(columns: Sequence[pl.Series]) -> pl.Series:
        height = max(map(len, columns))
        columns = [c.new_from_index(0, height) if len(c) < height else c for c in columns]
        there = None if function.nulls else _all_there(columns)
        if there is None:
            return _called(function, columns)
        index = np.flatnonzero(there)
        found = _called(function, [column.gather(index) for column in columns])
        places = np.full(height, len(index))
        places[index] = np.arange(len(index))
        return pl.concat([found, found.clear(1)]).gather(places)

    return pl.map_batches(list(arguments), over, return_dtype=of)


def _called(function: UserFunction, columns: Sequence[pl.Series]) -> pl.Series:
    declared = function.arguments
    rows = [
        seen(column, each.type).alias(each.name)
        for column, each in zip(columns, declared, strict=True)
    ]
    code, height = code_of(function), len(rows[0])
    whose = f"function `{function.name}`"
    if not height:
        return pl.Series([], dtype=polars_type(function.returns))
    with function.around():
        return _answers(function, code, rows, whose)


def _answers(
    function: UserFunction, code: Callable[..., Any], rows: Sequence[pl.Series], whose: str
) -> pl.Series:
    declared, height = function.arguments, len(rows[0])
    if function.vectorised:
        try:
            return kept(code(*rows), function.returns, height, whose)
        except PenstockError:
            raise
        except Exception as cause:
            row = [column[_guilty(code, rows)] for column in rows]
            raise failed(function, "", shown_row(declared, row), cause) from cause
    found = []
    row_values: tuple[Any, ...] = ()
    try:
        for row_values in zip(*(column.to_list() for column in rows), strict=True):
            found.append(code(*row_values))
    except Exception as cause:
        raise failed(function, "", shown_row(declared, row_values), cause) from cause
    return kept(found, function.returns, height, whose)


def _all_there(columns: Sequence[pl.Series]) -> Any:
    """Where no argument is NULL; None: everywhere."""
    gaps = [column.is_not_null().to_numpy() for column in columns if column.null_count()]
    return np.logical_and.reduce(gaps) if gaps else None


def _guilty(code: Callable[..., Any], rows: Sequence[pl.Series]) -> int:
    """The row at which columns fail, or the first of those that only fail together."""
    low, high = 0, len(rows[0])
    while high - low > 1:
        middle = (low + high) // 2
        try:
            code(*(column[low:middle] for column in rows))
        except Exception:
            high = middle
        else:
            low = middle
    return low
