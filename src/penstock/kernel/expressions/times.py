"""Functions of time, on ticks.

What every day has alike (hours, minutes, whole units) is integer arithmetic that rounds down, so
times before 1970 need no special case. Only months and years go through a calendar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from penstock.kernel.expressions.calendar import calendar
from penstock.kernel.expressions.casts import cast
from penstock.kernel.expressions.zones import from_clock, to_clock
from penstock.model.constants import TRUNC_UNITS
from penstock.model.timestamps import DAY, END, EVEN_UNITS, HOUR, MILLISECOND, MINUTE, SECOND
from penstock.model.types import Type
from penstock.model.zones import UTC, zone_named

_BY_CALENDAR = {"month": "1mo", "quarter": "1q", "year": "1y"}


def date_trunc(unit: str, ticks: pl.Expr, zone: str = UTC) -> pl.Expr:
    unit, zone = TRUNC_UNITS[unit.lower()], zone_named(zone)
    if zone != UTC and unit not in ("second", "millisecond", "microsecond"):
        local = to_clock(ticks, zone)
        start = date_trunc(unit, local)
        if unit in ("hour", "minute"):
            return ticks - (local - start)  # which of two hours of that name it is stays so
        return from_clock(start, zone)
    if unit in _BY_CALENDAR:
        return calendar(ticks).dt.truncate(_BY_CALENDAR[unit]).cast(pl.Int64)
    length, begin = EVEN_UNITS[unit]
    return (ticks - begin) // length * length + begin


def weekday(ticks: pl.Expr) -> pl.Expr:
    """Monday is 0."""
    return ((ticks // DAY + 3) % 7).cast(pl.Int32)


def timestamp_seconds(types: Sequence[Type], seconds: pl.Expr) -> pl.Expr:
    if types[0].is_integer:
        return _time_of(seconds, SECOND)
    return cast(seconds, types[0], Type.TIMESTAMP)


def _time_of(count: pl.Expr, unit: int) -> pl.Expr:
    """So many units after 1970; NULL where no time is: what wraps around would be another one."""
    most = (END - 1) // unit
    return pl.when(count.is_between(-most, most)).then(count * unit)


def _in(unit: int, per: int) -> Callable[[pl.Expr], pl.Expr]:
    """How many whole units of the next larger one have passed."""
    return lambda ticks: (ticks // unit % per).cast(pl.Int32)


FORMS: dict[str, Callable[..., pl.Expr]] = {
    "year": lambda ticks: calendar(ticks).dt.year().cast(pl.Int32),
    "quarter": lambda ticks: calendar(ticks).dt.quarter().cast(pl.Int32),
    "month": lambda ticks: calendar(ticks).dt.month().cast(pl.Int32),
    "weekofyear": lambda ticks: calendar(ticks).dt.week().cast(pl.Int32),
    "dayofyear": lambda ticks: calendar(ticks).dt.ordinal_day().cast(pl.Int32),
    "dayofmonth": lambda ticks: calendar(ticks).dt.day().cast(pl.Int32),
    "dayofweek": lambda ticks: (weekday(ticks) + 1) % 7 + 1,
    "weekday": weekday,
    "hour": _in(HOUR, per=24),
    "minute": _in(MINUTE, per=60),
    "second": _in(SECOND, per=60),
    "date_trunc": date_trunc,
    "unix_seconds": lambda ticks: ticks // SECOND,
    "unix_millis": lambda ticks: ticks // MILLISECOND,
    "unix_micros": lambda ticks: ticks,
    "timestamp_millis": lambda number: _time_of(number, MILLISECOND),
    "timestamp_micros": lambda number: number,
}

BY_TYPE: dict[str, Callable[..., pl.Expr]] = {
    "timestamp_seconds": timestamp_seconds,
    "to_date": lambda types, value: cast(value, types[0], Type.DATE),
    "to_timestamp": lambda types, value: cast(value, types[0], Type.TIMESTAMP),
}
