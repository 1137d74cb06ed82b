"""Windows that tag a row with a range of ids as soon as it comes.

    kind                        the range                                   of those in it
    Sliding, Cumulating         the ids of the row's extents                all are windows
    Landmark                    from the row's own step on, without end     all up to the last step
    SlideByTuple and its like   where ids of the row's extents can lie      those that a row ends

That is all an operator has to know to place rows: what aggregates behind it sees a group attribute
whose values are ranges. The functions use nothing but + - * and //, so integers and NumPy arrays
both pass.  Spec: window-queries 3.1, 3.2.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, TypeVar

from penstock.model.timestamps import END
from penstock.windows.window import Window

Ticks = TypeVar("Ticks")


@dataclass(frozen=True)
class Tagged(Window):
    """Ids are integers, in the order in which their extents end."""

    @abstractmethod
    def wid_range(self, value: Ticks) -> tuple[Ticks, Ticks]:
        """The first id that can hold the value, and the first behind it that cannot."""

    @abstractmethod
    def closed_below(self, bound: int) -> int:
        """The first id that may still get rows, when nothing below `bound` will come."""

    @abstractmethod
    def covers(self, wid: Ticks) -> tuple[Ticks | None, Ticks]:
        """What extents cover, half-open; None: without beginning."""

    @property
    def grid(self) -> tuple[int, int] | None:
        """Step and origin of the bounds at which windows close; None: they close at any."""
        return None

    def closes_at(self, wid: int) -> int:
        """The least bound that closes all extents below `wid`: the inverse of `closed_below`."""
        if wid >= END or self.grid is None:
            return min(wid, END)
        step, origin = self.grid
        return origin + wid * step

    def first_covering(self, side: int, value: int) -> int | None:
        """The first id whose extent starts (side 0) or ends (1) at the value or later.

        None: extents of this kind have no such side.
        """
        if value >= END:
            return END
        if self.covers(0)[side] is None:
            return None

        def reaches(wid: int) -> bool:
            covered = self.covers(wid)[side]
            return covered is not None and covered >= value

        high = self.closed_below(value)
        step = 1
        while not reaches(high):
            high, step = high + step, step * 2
        low, step = high - 1, 1
        while reaches(low):
            low, step = low - step, step * 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reaches(middle) else (middle, high)
        return high

    @property
    def equally_long(self) -> bool:
        """Whether the ranges of all rows are equally long."""
        return False

    @property
    def has_gaps(self) -> bool:
        """Whether rows may belong to no window."""
        return False

    def bounds(self, wid: Any) -> tuple[int | None, int]:
        start, end = self.covers(wid)
        return start, end
