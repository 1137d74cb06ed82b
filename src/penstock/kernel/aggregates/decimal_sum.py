"""sum(x) and avg(x) of decimals, exact whatever the algorithm.

The whole number behind a decimal is cut into pieces of nine digits, and each piece has a sum of its
own, of 64-bit integers: these can be added up and taken away in any order and never overflow (some
nine milliards of rows would be needed). Only the result puts the pieces together again. So every
way to compute sums of integers computes sums of decimals.
"""

from __future__ import annotations

from functools import reduce

import polars as pl

from penstock.kernel.aggregates.count import Count
from penstock.kernel.aggregates.function import Function, PartialAggregate
from penstock.kernel.aggregates.grouping import Columns, Grouping
from penstock.kernel.aggregates.sum import Sum
from penstock.kernel.decimals import divided, of_units, units
from penstock.model.decimals import avg_type, sum_type
from penstock.model.types import MOST_DIGITS, DecimalType

#: Digits of a piece.
DIGITS = 9
_BASE = pl.lit(10**DIGITS, dtype=pl.Int128)


class Digits(Sum):
    """The sum of one piece of nine digits; the parameter is its number, from the lowest."""

    kinds = ("digits",)

    @property
    def is_exact(self) -> bool:
        return True

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        [piece] = self.parameters
        decimal = self.of
        assert isinstance(decimal, DecimalType)
        return (groups.sum(piece_of(self.values(rows), int(piece), pieces(decimal))),)


def pieces(of: DecimalType) -> int:
    """How many pieces hold all digits.

    >>> pieces(DecimalType(9, 2)), pieces(DecimalType(38, 0))
    (1, 5)
    """
    return -(-of.precision // DIGITS)


def piece_of(values: pl.Series, piece: int, count: int) -> pl.Series:
    """One piece of each number: the last has the sign, the others are rests of it."""
    number = pl.col("n") // pl.lit(10 ** (DIGITS * piece), dtype=pl.Int128)
    if piece < count - 1:
        number = number % _BASE
    return units(values).to_frame("n").select(number.cast(pl.Int64)).to_series()


def whole(sums: list[pl.Series]) -> pl.Series:
    """Pieces put together: numbers of up to 38 digits, NULL where there are more."""
    rows = pl.DataFrame([part.cast(pl.Int128).alias(str(n)) for n, part in enumerate(sums)])
    for n in range(len(sums) - 1):  # what is too much for one piece goes to the next
        low, high = pl.col(str(n)), pl.col(str(n + 1))
        rows = rows.with_columns(low % _BASE, high + low // _BASE)
    last = pl.col(str(len(sums) - 1))
    left = MOST_DIGITS - DIGITS * (len(sums) - 1)
    most = pl.lit(min(10**left, 1 << 120), dtype=pl.Int128)
    weights = [pl.lit(10 ** (DIGITS * n), dtype=pl.Int128) for n in range(len(sums))]
    parts = [pl.col(str(n)) * weight for n, weight in enumerate(weights)]
    total = reduce(lambda a, b: a + b, parts)
    return rows.select(pl.when((last >= 0 - most) & (last < most)).then(total)).to_series()


class DecimalSum(Function):
    """The sum, ten digits longer; NULL if that is not enough."""

    @property
    def decimal(self) -> DecimalType:
        assert isinstance(self.of, DecimalType)
        return self.of

    @property
    def parts(self) -> tuple[PartialAggregate, ...]:
        return tuple(
            Digits(self.argument, self.of, None, (piece,)) for piece in range(pieces(self.decimal))
        )

    def total(self, partials: Columns) -> pl.Series:
        """The sum as a whole number."""
        return whole([part.result(partials) for part in self.parts if isinstance(part, Digits)])

    def result(self, partials: Columns) -> pl.Series:
        return of_units(self.total(partials), sum_type(self.decimal))


class DecimalAvg(DecimalSum):
    """The average, with four digits more behind the point, rounded halves away from zero."""

    @property
    def parts(self) -> tuple[PartialAggregate, ...]:
        return (*super().parts, Count(self.argument, self.of))

    def result(self, partials: Columns) -> pl.Series:
        count = Count(self.argument, self.of).result(partials)
        return average(self.total(partials), count, self.decimal)


def average(total: pl.Series, count: pl.Series, of: DecimalType) -> pl.Series:
    """Sums of units, divided by counts."""
    result = avg_type(of)
    more = pl.lit(10 ** (result.scale - of.scale), dtype=pl.Int128)
    n, by = pl.col("n"), pl.col("by")
    rows = pl.DataFrame([total.alias("n"), count.cast(pl.Int128).alias("by")])
    # The whole quotient first: multiplied before, a sum could leave 128 bits.
    size = n.abs()
    digits = size // by * more + divided(size % by * more, by)
    signed = pl.when(n < 0).then(0 - digits).otherwise(digits)
    fits = size < pl.lit(10**MOST_DIGITS // 10 ** (result.scale - of.scale), dtype=pl.Int128) * by
    return of_units(rows.select(pl.when((by > 0) & fits).then(signed)).to_series(), result)
