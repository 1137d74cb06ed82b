"""Windows that tag a row with a range of ids as soon as it comes.

    kind                        the range                                   of those in it
    Sliding, Cumulating         the ids of the row's extents                all are windows
    Landmark                    from the row's own step on, without end     those in which rows lie
    SlideByTuple and its like   where ids of the row's extents can lie      those that a row ends

That is all an operator has to know to place rows: what aggregates behind it sees a group attribute
whose values are ranges. The functions use nothing but + - * and //, so integers and NumPy arrays
both pass.  Spec: window-queries 3.1, 3.2.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from penstock.model.timestamps import END
from penstock.windows.window import Row, Window, present

Ticks = TypeVar("Ticks")


@dataclass(frozen=True)
class Tagged(Window):
    """Ids are integers, in the order in which their extents end."""

    @abstractmethod
    def wid_range(self, value: Ticks) -> tuple[Ticks, Ticks]:
        """The first id that can hold the value, and the first behind it that cannot."""

    @abstractmethod
    def covers(self, wid: Ticks) -> tuple[Ticks | None, Ticks]:
        """What extents cover, half-open; None: without beginning."""

    @property
    def grid(self) -> tuple[int, int] | None:
        """Step and origin of the bounds at which windows close; None: they close at any."""
        return None

    def closed_below(self, bound: int) -> int:
        """The first id that may still get rows, when nothing below `bound` will come.

        >>> from penstock.windows import Sliding
        >>> Sliding("ts", 600, 60).closed_below(660)  # 11 minutes past: up to 10 are complete
        11
        """
        step, origin = self.grid or (1, 0)
        return (bound - origin) // step

    def closes_at(self, wid: int) -> int:
        """The least bound that closes all extents below `wid`: the inverse of `closed_below`."""
        step, origin = self.grid or (1, 0)
        return END if wid >= END else origin + wid * step

    def windows(self, rows: Sequence[Row]) -> Sequence[int]:
        return sorted({wid for row in rows for wid in self.wids(row, rows)})

    def extent(self, wid: int, rows: Sequence[Row]) -> list[Row]:
        start, end = self.covers(wid)
        return [
            row
            for row in present(rows, self.on)
            if (start is None or start <= row[self.on]) and row[self.on] < end
        ]

    def wids(self, row: Row, rows: Sequence[Row]) -> Sequence[int]:
        value = row[self.on]
        return () if value is None else range(*self.wid_range(value))

    def first_covering(self, side: int, value: int) -> int | None:
        """The first id whose extent starts (side 0) or ends (1) at the value or later.

        None: extents of this kind have no such side.
        """
        if value >= END:
            return END
        if self.covers(0)[side] is None:
            return None

        # The extent before the first open one ends at the value or earlier, and that one later; the
        # first behind those that can hold the value starts later.
        opened = self.closed_below(value)
        ids = range(opened - 1, (opened if side else self.wid_range(value)[1]) + 1)
        covers: Any = self.covers
        return ids[bisect_left(ids, value, key=lambda wid: covers(wid)[side])]

    @property
    def most_of_row(self) -> int:
        """How many windows a row is in at most, of those that can be told as soon as it comes."""
        return 1

    @property
    def equally_long(self) -> bool:
        """Whether the ranges of all rows are equally long."""
        return False

    @property
    def has_gaps(self) -> bool:
        """Whether rows may belong to no window."""
        return False

    def bounds(self, wid: Any) -> tuple[int | None, int]:
        return self.covers(wid)
