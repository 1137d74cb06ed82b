"""From one type to another, as Spark casts with ANSI mode off.

Integers wrap around when narrowed; a DOUBLE loses its fraction and stops at the ends of the range,
NaN becomes 0; text that cannot be read becomes NULL (`reading`). A TIMESTAMP as a number is seconds
since 1970.
"""

from __future__ import annotations

import polars as pl

from penstock.errors import PenstockBug
from penstock.kernel.expressions.calendar import days_to_ticks, ticks_to_days
from penstock.kernel.expressions.decimal_casts import from_decimal, to_decimal
from penstock.kernel.expressions.elementwise import quotient
from penstock.kernel.expressions.printing import to_text
from penstock.kernel.expressions.reading import from_text
from penstock.kernel.expressions.zones import from_clock, to_clock
from penstock.kernel.types import polars_type
from penstock.model.timestamps import SECOND
from penstock.model.types import ArrayType, DecimalType, Type, castable
from penstock.model.zones import UTC, needs_zone

#: A distance from UTC behind a time of day.
_WITH_ZONE = r"[ T].*(?:Z|UTC|[+-][0-9:]+)\s*$"


def cast(value: pl.Expr, given: Type, to: Type, zone: str = UTC) -> pl.Expr:
    """The value as another type, NULL where it cannot be read as one; in a zone's time."""
    if given is to:
        return value
    if zone != UTC and needs_zone(given, to):
        return _in_zone(value, given, to, zone)
    if not castable(given, to):
        raise PenstockBug(f"a cast from {given} to {to} was not refused")
    if given is Type.NULL:
        return value.cast(polars_type(to))
    if isinstance(to, DecimalType):
        return to_decimal(value, given, to)
    if isinstance(given, DecimalType):
        return from_decimal(value, given, to)
    if isinstance(to, ArrayType) and isinstance(given, ArrayType):
        return value.list.eval(cast(pl.element(), given.element, to.element))
    if to is Type.STRING:
        return to_text(value, given)
    if given is Type.STRING:
        return from_text(value, to)
    if to.is_time and given.is_time:
        return value
    if to.is_time:
        return days_to_ticks(value) if given is Type.DATE else _seconds_to_ticks(value, given)
    if given.is_time:
        return ticks_to_days(value) if to is Type.DATE else _ticks_to_seconds(value, to)
    return _number(value, given, to)


def _in_zone(value: pl.Expr, given: Type, to: Type, zone: str) -> pl.Expr:
    """By way of what clocks show, which is converted without a zone."""
    if given is Type.TIMESTAMP:
        return cast(to_clock(value, zone), Type.TIMESTAMP_NTZ, to)
    shown = from_clock(cast(value, given, Type.TIMESTAMP_NTZ), zone)
    if given is not Type.STRING:
        return shown
    says_zone = value.str.contains(_WITH_ZONE)
    return pl.when(says_zone).then(cast(value, given, to)).otherwise(shown)


def _number(value: pl.Expr, given: Type, to: Type) -> pl.Expr:
    """Between numbers and truth values."""
    if to is Type.BOOLEAN:
        return value != 0
    if to in (Type.TINYINT, Type.SMALLINT) and not given.is_integer:
        # By way of INT: stop at its ends first, then wrap.
        value = value.cast(pl.Int32, wrap_numerical=True)
    return value.cast(polars_type(to), wrap_numerical=True)


def _seconds_to_ticks(seconds: pl.Expr, given: Type) -> pl.Expr:
    if given.is_integer:
        whole = seconds.cast(pl.Int64)
        first, last = -(1 << 63), (1 << 63) - 1
        most = last // SECOND
        ends = pl.when(whole > most).then(last).when(whole < -most).then(first)
        return ends.otherwise(whole * SECOND) if given is Type.BIGINT else whole * SECOND
    ticks = (seconds.cast(pl.Float64) * SECOND).cast(pl.Int64, wrap_numerical=True)
    return pl.when(seconds.is_finite()).then(ticks)


def _ticks_to_seconds(ticks: pl.Expr, to: Type) -> pl.Expr:
    if to.is_integer:
        # What does not fit is NULL: another time would be none of the row's.
        return (ticks // SECOND).cast(polars_type(to), strict=False)
    return quotient(ticks, SECOND).cast(polars_type(to))
