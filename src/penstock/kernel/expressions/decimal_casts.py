"""Between decimals and other types, as Spark casts with ANSI mode off.

What has too many digits before the point is NULL; digits behind it that are too many are rounded,
halves away from zero. A DOUBLE is what its shortest text says: 0.1 is 0.1.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation

import polars as pl

from penstock.kernel.decimals import fitting, of_units, rescaled, units
from penstock.kernel.expressions.elementwise import quotient
from penstock.kernel.types import polars_type
from penstock.model.types import MOST_DIGITS, DecimalType, Type, as_decimal

#: Digits that every DOUBLE keeps apart: up to here a quotient is as exact as reading the text.
_EXACT_DIGITS = 15
_NUMBER = r"^([+-]?)([0-9]*)(?:\.([0-9]*))?$"


def to_decimal(value: pl.Expr, given: Type, to: DecimalType) -> pl.Expr:
    """Numbers, truth values and text as decimals."""
    if given is Type.STRING:
        return text_to_decimal(value, to)
    if given in (Type.FLOAT, Type.DOUBLE):
        # A FLOAT is what it is as a DOUBLE, with all digits of that.
        finite = pl.when(value.is_finite()).then(value).cast(pl.Float64)
        return text_to_decimal(finite.cast(pl.String), to)
    if given is Type.BOOLEAN:
        return to_decimal(value.cast(pl.Int8), Type.TINYINT, to)
    if isinstance(given, DecimalType):
        form = lambda column: rescaled(column, given, to)  # noqa: E731
    else:
        whole = as_decimal(given)
        assert whole is not None
        form = lambda column: rescaled(of_units(column, whole), whole, to)  # noqa: E731
    return value.map_batches(form, return_dtype=polars_type(to))


def from_decimal(value: pl.Expr, given: DecimalType, to: Type) -> pl.Expr:
    """Decimals as numbers, truth values or text."""
    if to is Type.STRING:
        return value.cast(pl.String)
    if to is Type.BOOLEAN:
        return value != 0
    if to in (Type.FLOAT, Type.DOUBLE):
        if given.precision <= _EXACT_DIGITS:
            number = value.map_batches(units, return_dtype=pl.Int128).cast(pl.Float64)
            return quotient(number, 10.0**given.scale).cast(polars_type(to))
        return value.cast(pl.String).cast(pl.Float64).cast(polars_type(to))
    step = pl.lit(10**given.scale, dtype=pl.Int128)

    def whole(column: pl.Series) -> pl.Series:
        numbers = units(column).to_frame("n").select(_cut(pl.col("n"), step)).to_series()
        long = numbers.cast(pl.Int64, wrap_numerical=True)
        found: pl.Series = long.cast(polars_type(to), wrap_numerical=True)
        return found

    return value.map_batches(whole, return_dtype=polars_type(to))


def _cut(number: pl.Expr, step: pl.Expr) -> pl.Expr:
    size = number.abs() // step
    return pl.when(number < 0).then(0 - size).otherwise(size)


def text_to_decimal(text: pl.Expr, to: DecimalType) -> pl.Expr:
    """What a text says, or NULL; spaces around it do not count."""
    return text.map_batches(lambda texts: read_decimals(texts, to), return_dtype=polars_type(to))


def read_decimals(texts: pl.Series, to: DecimalType) -> pl.Series:
    """The same of a column."""
    text = pl.col("text")
    rows = texts.to_frame("text").select(text.str.strip_chars())
    rows = rows.with_columns(plain=text.str.contains(_NUMBER) & text.str.contains("[0-9]"))
    groups = pl.when("plain").then(text).str.extract_groups(_NUMBER)
    rows = rows.with_columns(
        groups.struct.field(str(number)).fill_null("").alias(name)
        for number, name in enumerate(("sign", "whole", "fraction"), 1)
    )
    fraction = pl.col("fraction")
    kept = fraction.str.slice(0, to.scale).str.pad_end(to.scale, "0")
    digits = pl.concat_str(pl.lit("0"), "whole", kept).str.replace("^0+([0-9])", "${1}")
    up = fraction.str.slice(to.scale, 1).is_in([*"56789"]).cast(pl.Int128)
    rows = rows.select(
        text,
        "plain",
        "sign",
        size=pl.when(digits.str.len_chars() <= MOST_DIGITS).then(digits).cast(pl.Int128) + up,
    )
    signed = pl.when(sign="-").then(0 - pl.col("size")).otherwise("size")
    found = of_units(rows.select(pl.when("plain").then(signed)).to_series(), to)
    # With an exponent, one by one: hardly anybody writes decimals so.
    others = ~rows.get_column("plain").fill_null(True)
    if not others.any():
        return found.alias(texts.name)
    read = [_units(each, to) for each in rows.get_column("text").filter(others)]
    one_by_one = of_units(fitting(read), to)
    return found.scatter(others.arg_true(), one_by_one).alias(texts.name)


def _units(text: str, to: DecimalType) -> int | None:
    if not text.isascii() or "_" in text:
        return None
    try:
        number = Decimal(text)
        if not number.is_finite() or number.adjusted() > 40:
            return None
        exact = Context(prec=400)
        step = Decimal(1).scaleb(-to.scale)
        return int(number.quantize(step, ROUND_HALF_UP, exact).scaleb(to.scale, exact))
    except InvalidOperation:
        return None
