"""Grouping: which group each row is in, and what the groups make of a column.

Groups are numbered 0 … size - 1 and none is empty. Knowing the numbers, a column is aggregated by
scattering it into an array with one place per group, which costs about a nanosecond a row; no
hashing, no sorting. The answers follow SQL: NULLs are left out, and a group in which nothing is
left gets NULL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

Ids: TypeAlias = npt.NDArray[np.int64]

Columns: TypeAlias = Mapping[str, pl.Series]
"""Columns of equal length. What a data frame would add, planning and threads, takes longer than
most of what is done here."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """Row i is in group `ids[i]`."""

    ids: Ids
    size: int

    def spread(self, answers: pl.Series) -> pl.Series:
        """For each row, the answer of its group."""
        return take_values(answers, self.ids)

    def count(self, values: pl.Series | None = None) -> pl.Series:
        """How many rows, or how many values that are not NULL."""
        ids = self.ids
        if values is not None and values.null_count():
            ids = ids[values.is_not_null().to_numpy()]
        return pl.Series(np.bincount(ids, minlength=self.size))

    def sum(self, values: pl.Series) -> pl.Series:
        """The sum of a column of 64-bit numbers."""
        return self._scatter(np.add, 0, values)

    def least(self, values: pl.Series) -> pl.Series:
        """The least value; NaN counts as greater than any number."""
        if is_plain(values.dtype):
            return self._scatter(*smaller(values.dtype), values)
        return self._gathered(values, pl.col("value").min())

    def greatest(self, values: pl.Series) -> pl.Series:
        """The greatest value; NaN counts as greater than any number."""
        if is_plain(values.dtype):
            return self._scatter(*greater(values.dtype), values)
        return self._gathered(values, pl.col("value").max())

    def _scatter(self, combine: np.ufunc, neutral: Any, values: pl.Series) -> pl.Series:
        ids = self.ids
        gaps = values.null_count() > 0
        if gaps:
            ids = ids[values.is_not_null().to_numpy()]
            values = values.drop_nulls()
        plain = values.to_numpy()
        found = np.full(self.size, neutral, dtype=plain.dtype)
        with np.errstate(all="ignore"):  # infinities that meet are NaN, and that is the answer
            combine.at(found, ids, plain)
        answers = pl.Series(found)
        if not gaps:
            return answers
        empty = np.ones(self.size, dtype=np.bool_)
        empty[ids] = False
        return answers.set(pl.Series(empty), None)

    def _gathered(self, values: pl.Series, answer: pl.Expr) -> pl.Series:
        """For types that NumPy does not know."""
        rows = pl.DataFrame({"group": self.ids, "value": values})
        return rows.group_by("group").agg(answer).sort("group").get_column("value")


def is_plain(of: pl.DataType) -> bool:
    """Whether NumPy knows the numbers of a type: no decimals, nor those of 128 bits."""
    return of.is_float() or (of.is_integer() and of not in (pl.Int128, pl.UInt128))


def smaller(of: pl.DataType) -> tuple[np.ufunc, Any]:
    """How numbers become the least of them, and the number that changes none."""
    return (np.fmin, np.nan) if of.is_float() else (np.minimum, np.iinfo(str(of).lower()).max)


def greater(of: pl.DataType) -> tuple[np.ufunc, Any]:
    """How numbers become the greatest of them, and the number that changes none."""
    return np.maximum, -np.inf if of.is_float() else np.iinfo(str(of).lower()).min


def frame(columns: Columns) -> pl.DataFrame:
    """Columns as a table."""
    return pl.DataFrame([column.alias(name) for name, column in columns.items()])


def concat(parts: Sequence[Columns | pl.DataFrame], names: Iterable[str]) -> dict[str, pl.Series]:
    """Columns of several tables, one table behind the other."""
    if len(parts) == 1:
        return {name: parts[0][name].rechunk() for name in names}
    return {name: pl.concat([part[name] for part in parts], rechunk=True) for name in names}


def take(columns: Columns, index: Ids) -> dict[str, pl.Series]:
    """The rows of these numbers, in this order."""
    return {name: take_values(column, index) for name, column in columns.items()}


def narrowed(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whole numbers in as few bytes as hold them all: rows are picked faster out of a small table.

    >>> narrowed(np.array([7, -300])).dtype
    dtype('int16')
    """
    if numbers.dtype.kind != "i" or not len(numbers):
        return numbers
    least, most = int(numbers.min()), int(numbers.max())
    for of in (np.int16, np.int32):
        if np.iinfo(of).min <= least and most <= np.iinfo(of).max:
            return numbers.astype(of)
    return numbers


def take_values(column: pl.Series, index: Ids) -> pl.Series:
    # NumPy does it here and now; Polars hands it to a pool of threads, which costs more than the
    # work where there is little of it.
    if is_plain(column.dtype) and not column.null_count():
        return pl.Series(column.to_numpy()[index])
    return take_rows(column.to_frame(), index).to_series()


def take_rows(rows: pl.DataFrame, index: Ids) -> pl.DataFrame:
    """The same of a table; Polars looks at each number that is not its own kind of index."""
    return rows[pl.Series(index.astype(np.uint32))]
