"""Columns of DECIMAL, and the whole numbers behind them.

A decimal is a whole number of its last digit's units: 1.25 of DECIMAL(10, 2) is 125 units. Units
are computed with as integers of 128 bits, which hold 38 digits. A result that has more digits than
its type is NULL.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from penstock.model.types import DecimalType

#: Every number of 128 bits is below this, with its sign.
BEYOND_128_BITS = 1 << 127
BEYOND_64_BITS = 1 << 63


def units(values: pl.Series) -> pl.Series:
    """The whole numbers behind a column of decimals.

    >>> from decimal import Decimal
    >>> units(pl.Series([Decimal("1.25")], dtype=pl.Decimal(10, 2))).to_list()
    [125]
    """
    return values.to_physical()


def of_units(numbers: pl.Series, of: DecimalType) -> pl.Series:
    """Decimals of these units; NULL where one has too many digits.

    >>> of_units(pl.Series([125, 10**6], dtype=pl.Int128), DecimalType(5, 2)).to_list()
    [Decimal('1.25'), None]
    """
    most = 10**of.precision - 1
    size = largest(numbers)
    if size < BEYOND_64_BITS and size <= most:
        long = numbers.cast(pl.Int64)
        words = np.empty((len(long), 2), dtype=np.int64)
        words[:, 0] = plain(long)
        return of_words(words, long, of)
    wide = numbers.cast(pl.Int128)
    if size > most:
        keep = wide.is_between(-most, most)
        wide = pl.select(pl.when(keep).then(wide)).to_series()
    # The same bytes, with the point elsewhere.
    whole = wide.rechunk().cast(pl.Decimal(38, 0)).to_arrow()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.combine_chunks()
    return _of_bytes(whole.buffers(), len(whole), whole.null_count, whole.offset, of, numbers.name)


def plain(numbers: pl.Series) -> npt.NDArray[np.int64]:
    """64-bit numbers, with 0 for NULL."""
    found: npt.NDArray[np.int64] = (
        numbers.fill_null(0) if numbers.null_count() else numbers
    ).to_numpy()
    return found


def of_words(words: npt.NDArray[np.int64], given: pl.Series, of: DecimalType) -> pl.Series:
    """Decimals of 64-bit units in the first of two columns; NULL where `given` is.

    The second becomes the sign of each: both are the bytes of a number of 128 bits.
    """
    np.right_shift(words[:, 0], 63, out=words[:, 1])
    found = _of_bytes([None, pa.py_buffer(words)], len(words), 0, 0, of, given.name)
    if not given.null_count():
        return found
    return pl.select(pl.when(given.is_not_null()).then(found)).to_series().alias(given.name)


def _of_bytes(
    buffers: list[pa.Buffer | None],
    length: int,
    nulls: int,
    offset: int,
    of: DecimalType,
    name: str,
) -> pl.Series:
    type_ = pa.decimal128(of.precision, of.scale)
    moved = pa.Array.from_buffers(type_, length, buffers, nulls, offset)
    return pl.Series(name, moved, dtype=pl.Decimal(of.precision, of.scale))


def largest(numbers: pl.Series) -> int:
    """The size of the largest number of a column."""
    high, low = numbers.max(), numbers.min()
    ends = [abs(end) for end in (high, low) if isinstance(end, int)]
    return max(ends, default=0)


def divided(numbers: pl.Expr, by: pl.Expr | int) -> pl.Expr:
    """The nearest whole quotient, halves away from zero."""
    divisor = pl.lit(by, dtype=pl.Int128) if isinstance(by, int) else by
    size, length = numbers.abs(), divisor.abs()
    nearest = size // length + (size % length * 2 >= length).cast(pl.Int128)
    is_negative = (numbers < 0) != (divisor < 0)
    return pl.when(is_negative).then(0 - nearest).otherwise(nearest)


def nearest(number: int, by: int) -> int:
    """The same of Python's integers.

    >>> nearest(25, 10), nearest(-25, 10), nearest(24, 10)
    (3, -3, 2)
    """
    size = (2 * abs(number) + abs(by)) // (2 * abs(by))
    return -size if (number < 0) != (by < 0) else size


def times(numbers: pl.Series, by: int) -> pl.Series:
    """Every number multiplied by a constant, which leaves 128 bits nowhere."""
    if by == 1:
        return numbers
    return numbers.to_frame("n").select(pl.col("n") * pl.lit(by, dtype=pl.Int128)).to_series()


def rescaled(values: pl.Series, given: DecimalType, to: DecimalType) -> pl.Series:
    """Decimals as those of another type, rounded halves away from zero."""
    numbers, shift = units(values), to.scale - given.scale
    if shift < 0:
        found = numbers.to_frame("n").select(divided(pl.col("n"), 10**-shift)).to_series()
    elif largest(numbers) * 10**shift < BEYOND_128_BITS:
        found = times(numbers, 10**shift)
    else:
        found = pl.Series(
            [_or_none(n if n is None else n * 10**shift) for n in numbers], dtype=pl.Int128
        )
    return of_units(found.alias(values.name), to)


def _or_none(number: int | None) -> int | None:
    return None if number is None or abs(number) >= BEYOND_128_BITS else number


def fitting(numbers: list[int | None]) -> pl.Series:
    """Python's integers as a column; NULL where one has more than 128 bits."""
    return pl.Series([_or_none(number) for number in numbers], dtype=pl.Int128)
