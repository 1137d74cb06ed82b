"""What Polars has no expression for, computed on columns by a function.

Its own arithmetic of floats is only nearly right here and there: it divides by a constant by
multiplying with the reciprocal, takes `%` from a rounded quotient and the logarithm to base 10 from
the natural one. Each can be wrong in the last digit, and a last digit decides whether two values
are equal; so these come from NumPy.

Both branches of its `when` are computed for all rows, so a slow case that hardly ever occurs would
cost as much as if it always did; `rarely` computes it only for the rows it is for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl


def elementwise(compute: Callable[..., Any], *args: pl.Expr) -> pl.Expr:
    """A function of DOUBLE arrays over columns; NULL where an argument is NULL."""

    def over(columns: Sequence[pl.Series]) -> pl.Series:
        with np.errstate(all="ignore"):
            result = pl.Series(compute(*(column.to_numpy() for column in columns)))
        if not any(column.null_count() for column in columns):
            return result
        given = pl.all_horizontal(column.is_not_null() for column in columns)
        return pl.select(pl.when(given).then(result)).to_series()

    doubles = [arg.cast(pl.Float64) for arg in args]
    return pl.map_batches(doubles, over, return_dtype=pl.Float64)


def quotient(left: pl.Expr, right: pl.Expr | float) -> pl.Expr:
    """The DOUBLE nearest to left / right."""
    return elementwise(np.true_divide, left, right if isinstance(right, pl.Expr) else pl.lit(right))


def rarely(
    where: pl.Expr, value: pl.Expr, compute: Callable[[pl.Expr], pl.Expr], dtype: pl.DataType
) -> pl.Expr:
    """`compute(value)` for the rows where `where` holds; NULL for all others."""

    def over(columns: Sequence[pl.Series]) -> pl.Series:
        chosen = columns[0].fill_null(False)
        few = pl.DataFrame({"value": columns[1].filter(chosen)})
        if few.is_empty():
            return pl.repeat(None, len(chosen), dtype=dtype, eager=True)
        computed = few.select(compute(pl.col("value"))).to_series()
        # The n-th row for which it holds gets the n-th result.
        place = pl.select(pl.when(chosen).then(chosen.cum_sum() - 1)).to_series()
        return computed.gather(place)

    return pl.map_batches([where, value], over, return_dtype=dtype)
