"""Arithmetic as Spark does it with ANSI mode off: integers wrap, dividing by zero gives NULL.

Polars' own integer operators wrap already, but its `//` and `%` round down where SQL cuts towards
zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import add, and_, invert, neg, or_, sub, xor
from typing import Any

import numpy as np
import polars as pl

from penstock.kernel.expressions.elementwise import elementwise, quotient
from penstock.kernel.types import polars_type
from penstock.model.folding import LIMITS
from penstock.model.types import Type

Types = Sequence[Type]

#: From here on, a DOUBLE has no digits behind the point.
_WHOLE = 2.0**52


def multiply(types: Types, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    if types[0] is types[1]:
        return left * right
    if types[1] is Type.INTERVAL:
        return multiply(types[::-1], right, left)
    if types[1].is_integer:
        return left * right.cast(pl.Int64)
    return _ticks(left.cast(pl.Float64) * right.cast(pl.Float64))


def move(
    types: Types, left: pl.Expr, right: pl.Expr, *, by: Callable[[pl.Expr, pl.Expr], pl.Expr]
) -> pl.Expr:
    """A sum or a difference; a DATE by so many days, NULL beyond the ends of time."""
    if types[0] is not Type.DATE:
        return by(left, right)
    days = by(left.cast(pl.Int32).cast(pl.Int64), right.cast(pl.Int64))
    first, last = LIMITS[Type.DATE]
    return pl.when(days.is_between(first, last)).then(days).cast(pl.Int32).cast(pl.Date)


def divide(types: Types, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    if types[0] is Type.INTERVAL and types[1].is_integer:
        return _divide_ticks(left, right.cast(pl.Int64))
    result = quotient(left, _unless_zero(right))
    return _ticks(result) if types[0] is Type.INTERVAL else result


def integer_divide(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    down, rest = left // right, left % right
    return pl.when((rest != 0) & ((left < 0) != (right < 0))).then(down + 1).otherwise(down)


def remainder(types: Types, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    if not types[0].is_integer:
        return elementwise(np.fmod, left, _unless_zero(right)).cast(polars_type(types[0]))
    rest = left % right
    return pl.when((rest != 0) & ((rest < 0) != (left < 0))).then(rest - right).otherwise(rest)


def positive_remainder(types: Types, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    rest = remainder(types, left, right)
    return pl.when(rest < 0).then(remainder(types, rest + right, right)).otherwise(rest)


def to_integer(types: Types, number: pl.Expr, *, rounded: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
    """The next integer; beyond BIGINT, its ends."""
    if types[0].is_integer:
        return number
    return rounded(number).cast(pl.Int64, wrap_numerical=True)


def round_half_up(types: Types, number: pl.Expr, digits: int = 0) -> pl.Expr:
    """Rounded as the number's decimal text reads, so that 1.005 becomes 1.01.

    The text ends in a 5 at the cut exactly if the number is the DOUBLE nearest to k + 1/2 steps;
    comparing with that one needs no text.
    """
    if types[0].is_integer:
        return number if digits >= 0 else _round_integer(types[0], number, -digits)
    size = number.abs().cast(pl.Float64)
    step = 10.0 ** min(abs(digits), 308)
    if digits < 0:
        rest = elementwise(np.fmod, size, pl.lit(step))
        rounded = size - rest + pl.when(rest >= step / 2).then(step).otherwise(0.0)
    else:
        below = (size * step).floor()
        up = size >= quotient(below + 0.5, step)
        nearest = quotient(below + up.cast(pl.Float64), step)
        rounded = pl.when(below < _WHOLE).then(nearest).otherwise(size)
    rounded = rounded.cast(polars_type(types[0]))
    # No zero has a sign here.
    signed = pl.when((number < 0) & (rounded != 0)).then(0.0 - rounded).otherwise(rounded)
    return pl.when(number.is_finite()).then(signed).otherwise(number)


def logarithm(log: Callable[..., Any], number: pl.Expr) -> pl.Expr:
    return elementwise(log, pl.when(number > 0).then(number))


def _round_integer(type_: Type, number: pl.Expr, zeros: int) -> pl.Expr:
    """To tens, hundreds, …; halves away from zero, wrapping in the number's own type."""
    if zeros > 18:  # half of the step is beyond every BIGINT
        return number - number
    step = 10**zeros
    wide = number.cast(pl.Int64)
    above = wide % step
    rest = pl.when((wide < 0) & (above > 0)).then(above - step).otherwise(above)
    down = wide - rest
    half = step // 2
    away = pl.when(rest >= half).then(down + step).when(rest <= -half).then(down - step)
    return away.otherwise(down).cast(polars_type(type_), wrap_numerical=True)


def _divide_ticks(ticks: pl.Expr, divisor: pl.Expr) -> pl.Expr:
    """The nearest tick, halves away from zero."""
    # Without signs: the least BIGINT has no positive one, and twice a rest may be none.
    size, by = (each.abs().cast(pl.UInt64, wrap_numerical=True) for each in (ticks, divisor))
    rest = size % by
    nearest = (size // by + (rest >= by - rest)).cast(pl.Int64, wrap_numerical=True)
    return pl.when((ticks < 0) != (divisor < 0)).then(-nearest).otherwise(nearest)


def _ticks(value: pl.Expr) -> pl.Expr:
    """The nearest tick; NULL where there is none."""
    return value.round(mode="half_away_from_zero").cast(pl.Int64, strict=False)


def _unless_zero(number: pl.Expr) -> pl.Expr:
    return pl.when(number != 0).then(number)


FORMS: dict[str, Callable[..., pl.Expr]] = {
    "div": integer_divide,
    "negative": neg,
    "abs": lambda number: number.abs(),
    "sign": lambda number: number.sign(),
    "sqrt": lambda number: number.sqrt(),
    "exp": lambda number: number.exp(),
    "ln": partial(logarithm, np.log),
    "log10": partial(logarithm, np.log10),
    "log2": partial(logarithm, np.log2),
    "power": lambda base, exponent: base.pow(exponent),
    "isnan": lambda number: number.is_nan().fill_null(False),
    "&": and_,
    "|": or_,
    "^": xor,
    "~": invert,
}

BY_TYPE: dict[str, Callable[..., pl.Expr]] = {
    "+": partial(move, by=add),
    "-": partial(move, by=sub),
    "*": multiply,
    "/": divide,
    "%": remainder,
    "pmod": positive_remainder,
    "ceil": partial(to_integer, rounded=lambda number: number.ceil()),
    "floor": partial(to_integer, rounded=lambda number: number.floor()),
    "round": round_half_up,
}
