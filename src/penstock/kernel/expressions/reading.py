"""Text as values: what it says, or NULL.

Spaces around it do not count. Moments may stop early (`2024`, `2024-01`, `2024-01-31 10`) and may
name their distance from UTC, of at most 18 hours; without one they are in UTC.
"""

from __future__ import annotations

import polars as pl

from penstock.kernel.expressions.elementwise import rarely
from penstock.kernel.types import polars_type
from penstock.model.timestamps import HOUR, MINUTE
from penstock.model.types import Type

_TRUE = ("true", "t", "yes", "y", "1")
_FALSE = ("false", "f", "no", "n", "0")

_INTEGER = r"^([+-]?[0-9]+)(?:\.[0-9]*)?$"
_BELOW_ONE = r"^[+-]?\.[0-9]*$"
_YEAR, _MONTH_OR_DAY, _CLOCK = "([0-9]{4})", "([0-9]{1,2})", "([0-5]?[0-9])"
_DAY = f"^{_YEAR}(?:-{_MONTH_OR_DAY}(?:-{_MONTH_OR_DAY}(?:[ T].*)?)?)?$"
_PLAIN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-5][0-9](?:\.[0-9]{1,6})?$"
_ZONE = r"(?:Z|UTC|([+-])([0-9]{1,2})(?::([0-5][0-9]))?)"
_TIME = rf"{_CLOCK}(?::{_CLOCK}(?::{_CLOCK}(?:\.([0-9]{{1,9}}))?)?)?"
_MOMENT = f"^{_YEAR}(?:-{_MONTH_OR_DAY}(?:-{_MONTH_OR_DAY}(?:[ T]{_TIME}{_ZONE}?)?)?)?$"


def from_text(text: pl.Expr, to: Type) -> pl.Expr:
    """The value that the text writes out; NULL where it writes none."""
    if to is Type.BINARY:
        return text.cast(pl.Binary)
    text = text.str.strip_chars()
    match to:
        case Type.BOOLEAN:
            return _boolean(text)
        case Type.DATE:
            return _date(text)
        case Type.TIMESTAMP | Type.TIMESTAMP_NTZ:
            return _ticks(text)
    if to.is_integer:
        whole = text.str.extract(_INTEGER)
        text = pl.when(text.str.contains(_BELOW_ONE)).then(pl.lit("0")).otherwise(whole)
    return text.cast(polars_type(to), strict=False)


def _boolean(text: pl.Expr) -> pl.Expr:
    word = text.str.to_lowercase()
    return pl.when(word.is_in(_TRUE)).then(True).when(word.is_in(_FALSE)).then(False)


def _date(text: pl.Expr) -> pl.Expr:
    return _day(text.str.extract_groups(_DAY)).str.to_date("%Y-%m-%d", strict=False)


def _ticks(text: pl.Expr) -> pl.Expr:
    plain = text.str.contains(_PLAIN)
    clock = pl.when(plain).then(text).str.replace("T", " ", literal=True)
    return pl.coalesce(_moment(clock), rarely(~plain, text, _apart, pl.Int64()))


def _moment(clock: pl.Expr) -> pl.Expr:
    form = "%Y-%m-%d %H:%M:%S%.f"
    moment = clock.str.to_datetime(form, time_unit="us", strict=False, cache=False)
    return moment.cast(pl.Int64)


def _apart(text: pl.Expr) -> pl.Expr:
    """A moment with parts missing, or with a distance from UTC."""
    groups = text.str.extract_groups(_MOMENT)
    hour, minute, second, fraction = (_group(groups, n, "0") for n in (4, 5, 6, 7))
    clock = pl.format(
        "{} {}:{}:{}.{}", _day(groups), hour, minute, second, fraction.str.slice(0, 6)
    )
    ahead = _group(groups, 9, "0").cast(pl.Int64) * HOUR
    ahead += _group(groups, 10, "0").cast(pl.Int64) * MINUTE
    west = _group(groups, 8, "+") == "-"
    shift = pl.when(ahead <= 18 * HOUR).then(pl.when(west).then(ahead).otherwise(-ahead))
    return _moment(clock) + shift


def _day(groups: pl.Expr) -> pl.Expr:
    """The first three groups as `year-month-day`; NULL where nothing matched."""
    month, day = _group(groups, 2, "1"), _group(groups, 3, "1")
    return pl.format("{}-{}-{}", groups.struct.field("1"), month, day)


def _group(groups: pl.Expr, number: int, missing: str) -> pl.Expr:
    return groups.struct.field(str(number)).fill_null(missing)
