"""Keys: rows grouped by equal keys.

Each column of a key becomes a column of codes: an integer is its own code, a string has its place
in a dictionary. The codes of several columns are the digits of one number. Keys that occur together
mostly lie close together, so a table with one place per possible number tells which ones occur.
Only keys that are wide and sparse are sorted.

NULL is a key like any other; all NaN are one key, and so are 0.0 and -0.0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Grouping, Ids

#: Places that a table may have per row; where it would have more, sorting is cheaper.
_PLACES_PER_ROW = 16
_FEW_PLACES = 1 << 12
#: Numbers below this fit into 64 bits, with room to add.
MOST_CODES = 1 << 62


@dataclass(frozen=True, eq=False)
class Groups(Grouping):
    """Groups by equal keys: row `members[g]` is one of those in group g."""

    members: Ids


@dataclass(frozen=True, eq=False)
class Codes:
    """One code per row, low <= code < low + size; not every code need occur."""

    codes: Ids
    size: int
    low: int = 0

    def groups(self) -> Groups:
        """Rows with equal codes in one group; groups are in the order of their codes."""
        codes = self._from_zero()
        if self._is_sparse():
            found, ids = np.unique(codes, return_inverse=True)
            members = np.empty(len(found), dtype=np.int64)
            members[ids] = np.arange(len(codes))
            return Groups(ids, len(found), members)
        # In the place of each code, one of its rows.
        table = np.full(self.size, -1)
        table[codes] = np.arange(len(codes))
        found = np.flatnonzero(table >= 0)
        members = table[found]
        if len(found) == self.size:
            return Groups(codes, self.size, members)
        table[found] = np.arange(len(found))
        return Groups(table[codes], len(found), members)

    def occurring(self) -> Ids:
        """The codes that occur, counted from `low`, each once and in order; size is below 2^62."""
        codes = self._from_zero()
        if self._is_sparse():
            codes = np.sort(codes)
            return codes[np.diff(codes, prepend=-1) > 0]
        table = np.zeros(self.size, dtype=np.bool_)
        table[codes] = True
        return np.flatnonzero(table)

    def _from_zero(self) -> Ids:
        return self.codes - self.low if self.low and self.size <= MOST_CODES else self.codes

    def _is_sparse(self) -> bool:
        return self.size > max(_PLACES_PER_ROW * len(self.codes), _FEW_PLACES)

    def compact(self) -> Codes:
        """The same with codes that all occur."""
        groups = self.groups()
        return Codes(groups.ids, groups.size)


def code_integers(values: Ids) -> Codes:
    """Integers, as they are.

    >>> code_integers(np.array([7, 9, 7]))
    Codes(codes=array([7, 9, 7]), size=3, low=7)
    """
    if not len(values):
        return Codes(values, 1)
    low, high = int(values.min()), int(values.max())
    return Codes(values, high - low + 1, low)


def code_column(column: pl.Series) -> Codes:
    """Equal codes where values are equal, whatever their type."""
    nulls = column.null_count()
    if nulls == len(column):
        return Codes(np.zeros(len(column), dtype=np.int64), 1)
    if column.dtype.is_integer() or column.dtype in (pl.Boolean, pl.Date):
        integers = column.cast(pl.Int64)
        if nulls:
            integers = integers.fill_null(strategy="min")
        codes = code_integers(integers.to_numpy())
    elif column.dtype.is_float():
        found, ids = np.unique(column.fill_null(0.0).to_numpy(), return_inverse=True)
        codes = Codes(ids, len(found))
    elif column.dtype.is_nested():
        codes = _code_nested(column)
    else:
        # Arrow's dictionary goes with the block; a categorical would keep every key for ever.
        encoded = column.to_arrow().dictionary_encode()
        indices = encoded.indices.fill_null(0) if nulls else encoded.indices
        codes = Codes(indices.to_numpy().astype(np.int64), len(encoded.dictionary))
    if not nulls:
        return codes
    codes = codes.compact()
    return Codes(np.where(column.is_null().to_numpy(), codes.size, codes.codes), codes.size + 1)


def _code_nested(column: pl.Series) -> Codes:
    """Arrays and structs, which Arrow's dictionaries do not take."""
    rows = column.to_frame("key").with_row_index("row")
    groups = rows.group_by("key", maintain_order=True).agg("row")
    lengths = groups.get_column("row").list.len().to_numpy()
    codes = np.empty(len(column), dtype=np.int64)
    codes[groups.get_column("row").explode().to_numpy()] = np.repeat(
        np.arange(len(lengths)), lengths
    )
    return Codes(codes, max(len(lengths), 1))


def combine(digits: Iterable[Codes], rows: int) -> Codes:
    """One code for several: equal where all of them are."""
    codes = Codes(np.zeros(rows, dtype=np.int64), 1)
    for digit in digits:
        if codes.size * digit.size > MOST_CODES:
            codes, digit = codes.compact(), digit.compact()
        if codes.size == 1:
            codes = digit
        elif digit.size > 1:
            number = codes.codes * digit.size
            number += digit.codes
            number -= _wrap(codes.low * digit.size + digit.low)
            codes = Codes(number, codes.size * digit.size)
    return codes


def _wrap(number: int) -> int:
    """What 64 bits make of it: large codes wrap around, and so must what is taken from them."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def group_rows(keys: Iterable[pl.Series], rows: int) -> Groups:
    """Rows with equal keys in one group; without keys, all rows in one."""
    return combine(map(code_column, keys), rows).groups()
