"""Range aggregates: one partial of all panes, so that any range of them is one lookup.

A range aggregate is a table with a row per pane and a column per group. Rows are appended, which
may have more columns than those before, and dropped at the front; they are numbered from 0 and keep
their number. `query` gives what many ranges low … high - 1 of rows come to, a row for each, all in
one go, whatever their lengths; none of them may be empty.

    kind            of                          a range of rows is
    RunningSums     counts, sums of integers    one sum less another: exact, also where sums wrap
    AlignedBlocks   sums of doubles, extremes   put together from blocks of 1, 2, 4, 8 … rows, each
                                                beginning at a multiple of its length: two of each
                                                length at most, and nothing is subtracted
Spec: window-queries 4.2, 4.3.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.kernel.aggregates.count import Count
from penstock.kernel.aggregates.extremes import Max, Min
from penstock.kernel.aggregates.function import PartialAggregate
from penstock.kernel.aggregates.grouping import Ids, greater, is_plain, smaller
from penstock.kernel.aggregates.sum import Sum
from penstock.kernel.types import polars_type

Numbers: TypeAlias = npt.NDArray[Any]


class RunningSums:
    """Row n is the sum of all rows before it."""

    neutral = 0

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self._sums = _Rows(0, self.dtype)
        self._sums.append(np.zeros((1, 0), self.dtype))

    def append(self, rows: Numbers) -> None:
        self._sums.widen(rows.shape[1])
        stop = self._sums.stop
        sums = np.concatenate((self._sums.between(stop - 1, stop), rows))
        np.cumsum(sums, axis=0, out=sums)
        self._sums.append(sums[1:])

    def drop(self, first: int) -> None:
        self._sums.drop(first)

    def query(self, low: Ids, high: Ids) -> Numbers:
        found = self._sums.take(high)
        found -= self._sums.take(low)
        return found


class AlignedBlocks:
    """Level j has a row for every 2**j rows that are there as a whole."""

    def __init__(self, combine: np.ufunc, neutral: Any, dtype: npt.DTypeLike) -> None:
        self.neutral, self.dtype = neutral, np.dtype(dtype)
        self._combine = combine
        self._levels = [_Rows(neutral, self.dtype)]

    def append(self, rows: Numbers) -> None:
        for each in self._levels:
            each.widen(rows.shape[1])
        self._levels[0].append(rows)
        level = 0
        while True:
            below = self._levels[level]
            level += 1
            if level == len(self._levels):
                if below.stop < 2:
                    return
                self._levels.append(_Rows(self.neutral, self.dtype))
                self._levels[level].begin(-(-below.first // 2))
            above = self._levels[level]
            first, stop = max(2 * above.stop, below.first), below.stop // 2 * 2
            if first >= stop:
                return
            pairs = below.between(first, stop)
            with np.errstate(all="ignore"):  # infinities that meet are NaN, and that is the answer
                above.append(self._combine(pairs[0::2], pairs[1::2]))

    def drop(self, first: int) -> None:
        for level in self._levels:
            level.drop(first)
            first = -(-first // 2)

    def query(self, low: Ids, high: Ids) -> Numbers:
        low, high = low.copy(), high.copy()
        found = np.full((len(low), self._levels[0].width), self.neutral, self.dtype)
        with np.errstate(all="ignore"):
            for level in self._levels:
                inside = low < high
                if not inside.any():
                    break
                left = np.flatnonzero(inside & (low % 2 == 1))
                found[left] = self._combine(found[left], level.take(low[left]))
                right = np.flatnonzero(inside & (high % 2 == 1) & (low + low % 2 < high))
                found[right] = self._combine(found[right], level.take(high[right] - 1))
                low, high = (low + 1) // 2, high // 2
        return found


RangeAggregate: TypeAlias = RunningSums | AlignedBlocks


def range_aggregate_of(part: PartialAggregate) -> RangeAggregate | None:
    """For a part with one column; None: it needs more than numbers side by side."""
    if isinstance(part, Count) or (isinstance(part, Sum) and part.is_exact):
        return RunningSums(np.int64)
    if isinstance(part, Sum):
        return AlignedBlocks(np.add, 0.0, np.float64)
    if isinstance(part, Min | Max) and part.of is not None:
        type_ = polars_type(part.of)
        if is_plain(type_):
            combine, neutral = (smaller if isinstance(part, Min) else greater)(type_)
            return AlignedBlocks(combine, neutral, str(type_).lower())
    return None


class _Rows:
    """Rows first … stop - 1 of a table that grows at its end and on its right side.

    Room doubles when it is used up, so that a row is moved a few times only.
    """

    def __init__(self, neutral: Any, dtype: np.dtype[Any]) -> None:
        self._neutral = neutral
        self._room = np.full((0, 0), neutral, dtype)
        self._offset = 0  # number of the row at the top of the room
        self.first = 0
        self.stop = 0

    @property
    def width(self) -> int:
        return int(self._room.shape[1])

    def begin(self, first: int) -> None:
        """Number the rows of an empty table from here on."""
        self._offset = self.first = self.stop = first

    def between(self, first: int, stop: int) -> Numbers:
        found: Numbers = self._room[first - self._offset : stop - self._offset]
        return found

    def take(self, numbers: Ids) -> Numbers:
        found: Numbers = self._room[numbers - self._offset]
        return found

    def append(self, rows: Numbers) -> None:
        self.widen(rows.shape[1])
        stop = self.stop + len(rows)
        if stop - self._offset > len(self._room):
            self._move(2 * (stop - self.first), self.width)
        self._room[self.stop - self._offset : stop - self._offset] = rows
        self.stop = stop

    def widen(self, width: int) -> None:
        if width > self.width:
            self._move(len(self._room), width)

    def drop(self, first: int) -> None:
        self.first = max(self.first, first)
        if self.first > self.stop:  # a level whose rows are all before it
            self.begin(self.first)

    def _move(self, rows: int, width: int) -> None:
        kept = self.between(self.first, self.stop)
        self._room = np.full((rows, width), self._neutral, self._room.dtype)
        self._room[: len(kept), : kept.shape[1]] = kept
        self._offset = self.first
