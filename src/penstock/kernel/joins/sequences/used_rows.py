"""UsedRows: which rows of the step before have been used up, by their numbers.

Rows are never taken out of the middle of a segment one by one: what is used is written down, as a
small segment with each batch, until so much of a store is used that it is written anew.
Spec: execution-model 6 (key-join constraint).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from penstock.kernel.segments import Mask, SegmentTable

#: The column that has a row's number.
NUMBER = "__number"

Numbers = npt.NDArray[np.int64]


class UsedRows:
    """Flags over a table of numbers, kept up to date with it."""

    def __init__(self) -> None:
        self._of: SegmentTable | None = None
        self._base = 0
        self._flags = np.zeros(0, np.bool_)

    def add(self, table: SegmentTable, numbers: Numbers) -> None:
        """These are used."""
        if not len(numbers):
            return
        self._follow(table)
        table.append(pl.DataFrame({NUMBER: numbers}), pl.concat)
        self._note(numbers)

    def among(self, table: SegmentTable, numbers: Numbers) -> Mask:
        """Which of these are used."""
        self._follow(table)
        places = numbers - self._base
        known = (places >= 0) & (places < len(self._flags))
        used: Mask = known & self._flags[np.where(known, places, 0)] if len(self._flags) else known
        return used

    def clear(self, table: SegmentTable) -> None:
        """What was used is gone."""
        table.clear()
        self._of = None

    def _follow(self, table: SegmentTable) -> None:
        """Read the table, if it is another one than before."""
        if self._of is table:
            return
        self._of, self._flags = table, np.zeros(0, np.bool_)
        for rows in table:
            self._note(rows.get_column(NUMBER).to_numpy())

    def _note(self, numbers: Numbers) -> None:
        low, high = int(numbers.min()), int(numbers.max())
        if not len(self._flags):
            self._base = low
        if low < self._base:
            self._flags = np.concatenate((np.zeros(self._base - low, np.bool_), self._flags))
            self._base = low
        missing = high - self._base + 1 - len(self._flags)
        if missing > 0:  # room for as many again, so that it seldom grows
            room = np.zeros(missing + len(self._flags), np.bool_)
            self._flags = np.concatenate((self._flags, room))
        self._flags[numbers - self._base] = True
