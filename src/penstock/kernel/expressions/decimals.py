"""Arithmetic of decimals, exact up to the digits of the result's type.

Each form computes with whole numbers of units (`kernel/decimals`). Where the numbers of a block
would leave 128 bits on the way, though the result need not, that block is computed with Python's
integers, which never end; most data is far from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import polars as pl

from penstock.kernel.decimals import (
    BEYOND_128_BITS,
    divided,
    fitting,
    largest,
    nearest,
    of_units,
    rescaled,
    times,
    units,
)
from penstock.kernel.types import polars_type
from penstock.model.decimals import arithmetic_type, rounded_type, whole_type
from penstock.model.types import DecimalType, Type

Types = Sequence[Type]

_A, _B = pl.col("a"), pl.col("b")


class _Computation:
    """A function of two whole numbers: over columns, in Python, and how large it gets on the way.

    `left` and `right` are what both are multiplied by first.
    """

    def __init__(
        self,
        columns: pl.Expr,
        single: Callable[[int, int], int | None],
        size: Callable[[int, int], int],
        left: int = 1,
        right: int = 1,
    ) -> None:
        self._columns, self._single, self._size = columns, single, size
        self._left, self._right = left, right

    def __call__(self, left: pl.Series, right: pl.Series) -> pl.Series:
        a, b = units(left), units(right)
        sizes = largest(a) * self._left, largest(b) * self._right
        # Twice: what is divided is compared with half of what it is divided by.
        if 2 * max(*sizes, self._size(*sizes)) < BEYOND_128_BITS:
            a, b = times(a, self._left), times(b, self._right)
            rows = pl.DataFrame([a.alias("a"), b.alias("b")])
            return rows.select(self._columns.alias("a")).to_series()
        pairs = zip(a.to_list(), b.to_list(), strict=True)
        return fitting(
            [
                None if x is None or y is None else self._single(x * self._left, y * self._right)
                for x, y in pairs
            ]
        )


def arithmetic(function: str, types: Types, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """One of + - * / % pmod; NULL when dividing by zero, or if the result has too many digits."""
    first, second = types
    assert isinstance(first, DecimalType) and isinstance(second, DecimalType)
    result = arithmetic_type(function, first, second)
    computation = _computation(function, first, second, result)

    def over(columns: Sequence[pl.Series]) -> pl.Series:
        return of_units(computation(*_of_one_length(*columns)), result)

    return pl.map_batches([left, right], over, return_dtype=polars_type(result))


def _of_one_length(left: pl.Series, right: pl.Series) -> tuple[pl.Series, pl.Series]:
    """A constant comes as one row: as many as the other column has."""
    if len(left) == len(right):
        return left, right
    if len(right) == 1:
        return left, right.new_from_index(0, len(left))
    return left.new_from_index(0, len(right)), right


def _computation(
    function: str, first: DecimalType, second: DecimalType, result: DecimalType
) -> _Computation:
    together = first.scale + second.scale
    scale = max(first.scale, second.scale)
    apart = 10 ** (scale - first.scale), 10 ** (scale - second.scale)
    match function:
        case "*":
            cut = 10 ** (together - result.scale)
            return _Computation(
                divided(_A * _B, cut), lambda a, b: nearest(a * b, cut), lambda a, b: a * b
            )
        case "/":
            shift = result.scale - first.scale + second.scale
            return _Computation(
                divided(_A, _unless_zero(_B)),
                lambda a, b: nearest(a, b) if b else None,
                lambda a, b: a,
                10**shift,
            )
        case "%":
            return _Computation(_remainder(_A, _B), _rest, max, *apart)
        case "pmod":
            return _Computation(_positive(_A, _B), _positive_rest, lambda a, b: a + b, *apart)
    sign = 1 if function == "+" else -1
    cut = 10 ** (scale - result.scale)
    total = _A + _B if function == "+" else _A - _B
    return _Computation(
        divided(total, cut) if cut > 1 else total,
        lambda a, b: nearest(a + b * sign, cut),
        lambda a, b: a + b,
        *apart,
    )


def _unless_zero(number: pl.Expr) -> pl.Expr:
    return pl.when(number != 0).then(number)


def _remainder(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    rest = left.abs() % _unless_zero(right.abs())
    return pl.when(left < 0).then(0 - rest).otherwise(rest)


def _rest(left: int, right: int) -> int | None:
    if not right:
        return None
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _positive(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    rest = _remainder(left, right)
    return pl.when(rest < 0).then(_remainder(rest + right, right)).otherwise(rest)


def _positive_rest(left: int, right: int) -> int | None:
    rest = _rest(left, right)
    return _rest(rest + right, right) if rest is not None and rest < 0 else rest


def rounded(types: Types, value: pl.Expr, digits: int = 0) -> pl.Expr:
    """To so many digits behind the point, halves away from zero."""
    [given] = types[:1]
    assert isinstance(given, DecimalType)
    result = rounded_type(given, digits)
    if digits >= 0:
        return _over(value, result, lambda values: rescaled(values, given, result))
    tens = given.scale - digits

    def over(values: pl.Series) -> pl.Series:
        if tens > 38:
            return of_units(times(units(values), 0), result)
        whole = units(values).to_frame("a").select(divided(_A, 10**tens)).to_series()
        if largest(whole) * 10**-digits < BEYOND_128_BITS:
            return of_units(times(whole, 10**-digits), result)
        return of_units(fitting([n and n * 10**-digits for n in whole]), result)

    return _over(value, result, over)


def to_whole(types: Types, value: pl.Expr, *, up: bool) -> pl.Expr:
    """The next whole number, upwards or downwards."""
    [given] = types
    assert isinstance(given, DecimalType)
    result = whole_type(given)
    step = pl.lit(10**given.scale, dtype=pl.Int128)
    whole = 0 - (0 - _A) // step if up else _A // step

    def over(values: pl.Series) -> pl.Series:
        return of_units(units(values).to_frame("a").select(whole).to_series(), result)

    return _over(value, result, over)


def integer_quotient(types: Types, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The whole quotient, cut towards zero, as BIGINT."""
    first, second = types
    assert isinstance(first, DecimalType) and isinstance(second, DecimalType)
    scale = max(first.scale, second.scale)
    size = _A.abs() // _unless_zero(_B.abs())
    computation = _Computation(
        pl.when((_A < 0) != (_B < 0)).then(0 - size).otherwise(size),
        lambda a, b: (abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)) if b else None,
        max,
        10 ** (scale - first.scale),
        10 ** (scale - second.scale),
    )

    def over(columns: Sequence[pl.Series]) -> pl.Series:
        whole = computation(*_of_one_length(*columns))
        found: pl.Series = whole.cast(pl.Int64, wrap_numerical=True)
        return found

    return pl.map_batches([left, right], over, return_dtype=pl.Int64)


def _over(
    value: pl.Expr, result: DecimalType, compute: Callable[[pl.Series], pl.Series]
) -> pl.Expr:
    return value.map_batches(compute, return_dtype=polars_type(result))


#: By their names, for arguments of which one is a DECIMAL.
DECIMAL_FORMS: dict[str, Callable[..., pl.Expr]] = {
    **{name: partial(arithmetic, name) for name in ("+", "-", "*", "/", "%", "pmod")},
    "round": rounded,
    "ceil": partial(to_whole, up=True),
    "floor": partial(to_whole, up=False),
    "div": integer_quotient,
    "negative": lambda types, value: -value,
    "abs": lambda types, value: value.abs(),
}
