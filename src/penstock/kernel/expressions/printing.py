"""Values as text, character for character as Spark prints them."""

from __future__ import annotations

import polars as pl

from penstock.kernel.expressions.calendar import calendar, days_to_ticks
from penstock.kernel.expressions.elementwise import rarely
from penstock.model.timestamps import DAY
from penstock.model.types import Type


def to_text(value: pl.Expr, given: Type) -> pl.Expr:
    """The value as text; NULL stays NULL."""
    match given:
        case Type.FLOAT | Type.DOUBLE:
            return _float(value)
        case Type.TIMESTAMP | Type.TIMESTAMP_NTZ:
            return _without_zeros(calendar(value).dt.to_string("%Y-%m-%d %H:%M:%S.%6f"))
        case Type.DATE:
            return calendar(days_to_ticks(value)).dt.to_string("%Y-%m-%d")
        case Type.INTERVAL:
            return _interval(value)
    return value.cast(pl.String)


def _without_zeros(text: pl.Expr) -> pl.Expr:
    """A time's text without the digits of the fraction that say nothing."""
    return text.str.strip_chars_end("0").str.strip_chars_end(".")


def _interval(ticks: pl.Expr) -> pl.Expr:
    """`INTERVAL '1 02:03:04.5' DAY TO SECOND`."""
    sign = pl.when(ticks < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    size = ticks.abs()
    clock = _without_zeros(calendar(size % DAY).dt.to_string("%H:%M:%S.%6f"))
    return pl.format("INTERVAL '{}{} {}' DAY TO SECOND", sign, size // DAY, clock)


def _float(number: pl.Expr) -> pl.Expr:
    """As Java writes it: 1.0, 1.0E7, 1.0E-4, NaN, Infinity."""
    size = number.abs()
    text = number.cast(pl.String)
    plain = (number == 0) | ((size >= 1e-3) & (size < 1e7))
    infinity = pl.when(number < 0).then(pl.lit("-Infinity")).otherwise(pl.lit("Infinity"))
    return (
        pl.when(plain)
        .then(text)
        .when(number.is_nan())
        .then(pl.lit("NaN"))
        .when(number.is_infinite())
        .then(infinity)
        .otherwise(rarely(~plain & number.is_finite(), text, _scientific, pl.String()))
    )


def _scientific(text: pl.Expr) -> pl.Expr:
    """Polars' `-15000000000.0` or `-1.5e+10` as `-1.5E10`."""
    sign = text.str.extract("^(-?)")
    whole = text.str.extract("^-?([0-9]+)")
    digits = text.str.extract(r"^-?([0-9.]+)").str.replace(".", "", literal=True)
    shift = text.str.extract("e(.+)$").cast(pl.Int64, strict=False).fill_null(0)
    significant = digits.str.strip_chars_start("0")
    leading = digits.str.len_chars().cast(pl.Int64) - significant.str.len_chars().cast(pl.Int64)
    exponent = shift + whole.str.len_chars().cast(pl.Int64) - 1 - leading
    fraction = significant.str.slice(1).str.strip_chars_end("0")
    fraction = pl.when(fraction == "").then(pl.lit("0")).otherwise(fraction)
    return pl.format("{}{}.{}E{}", sign, significant.str.slice(0, 1), fraction, exponent)
