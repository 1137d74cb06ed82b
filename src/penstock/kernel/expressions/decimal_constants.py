"""Exact numbers computed with a constant: `price * 0.908`, `bytes / 1024.0`.

A constant with a point makes decimals of integers, and these have 128 bits. But mostly all numbers
of a block fit into 64 on the way to the result, and then they are computed with as such: that is
ten times as fast. Other blocks are computed as any decimals are.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import polars as pl

from penstock.kernel.decimals import BEYOND_64_BITS, largest, of_words, plain, units
from penstock.kernel.types import polars_type
from penstock.model.decimals import arithmetic_type
from penstock.model.types import DecimalType, Type

Numbers = npt.NDArray[np.int64]

#: What is computed in 64 bits where that is possible.
FUNCTIONS = frozenset({"+", "-", "*", "/"})


def with_constant(
    function: str,
    types: tuple[DecimalType, DecimalType],
    value: pl.Expr,
    given: Type,
    constant: Decimal,
    general: Callable[[pl.Expr], pl.Expr],
    *,
    is_left: bool,
) -> pl.Expr:
    """A column of integers or decimals with a constant; `is_left`: the column stands first.

    `general` computes the same of any numbers.
    """
    column_type, constant_type = types if is_left else types[::-1]
    result = arithmetic_type(function, *types)
    number = int(constant.scaleb(constant_type.scale))
    plan = _plan(function, column_type, constant_type, result, number, is_left=is_left)
    if plan is None:
        return general(value)
    times, change, size = plan
    if abs(times) >= BEYOND_64_BITS:
        return general(value)
    most = min(BEYOND_64_BITS >> 2, 10**result.precision)

    def over(column: pl.Series) -> pl.Series:
        numbers = units(column) if isinstance(given, DecimalType) else column
        if size(largest(numbers)) >= most:
            name = column.name
            return column.to_frame().select(general(pl.col(name)).alias(name)).to_series()
        long = numbers.cast(pl.Int64)
        words = np.empty((len(long), 2), dtype=np.int64)
        np.multiply(plain(long), times, out=words[:, 0])
        change(words[:, 0])
        return of_words(words, long, result)

    return value.map_batches(over, return_dtype=polars_type(result))


def _plan(
    function: str,
    column: DecimalType,
    constant: DecimalType,
    result: DecimalType,
    number: int,
    *,
    is_left: bool,
) -> tuple[int, Callable[[Numbers], None], Callable[[int], int]] | None:
    """What numbers are multiplied by, how they change then, how large it gets; None: not here."""
    scale = max(column.scale, constant.scale)
    if function == "*" and result.scale == column.scale + constant.scale:
        return number, lambda numbers: None, lambda size: size * abs(number)
    if function in ("+", "-") and result.scale == scale:
        more, sign = 10 ** (scale - column.scale), -1 if function == "-" and not is_left else 1
        added = number * 10 ** (scale - constant.scale) * (-1 if function == "-" and is_left else 1)
        if abs(added) >= BEYOND_64_BITS >> 2:
            return None

        def add(numbers: Numbers) -> None:
            numbers += added

        return sign * more, add, lambda size: size * more + abs(added)
    if function == "/" and is_left and 0 < abs(number) < BEYOND_64_BITS >> 2:
        shift = result.scale - column.scale + constant.scale
        if shift < 0:
            return None
        more, divisor = 10**shift, abs(number)
        sign = 1 if number > 0 else -1

        def divide(numbers: Numbers) -> None:
            """To the nearest, halves away from zero."""
            size = (2 * np.abs(numbers) + divisor) // (2 * divisor)
            numbers[:] = np.where((numbers < 0) != (sign < 0), -size, size)

        return more, divide, lambda size: 2 * size * more + divisor
    return None
