"""Which pairs of rows a window join may bring together.

A join over streams needs a bound on how far apart partners can lie, or it must keep every
row for ever. Seen from a row, its partners lie in a stretch of the other side's time:

    band            l and r may join when                          partners of l
    Band            low <= r - l <= high                           [l + low, l + high]
    TumblingBand    both lie in the same window of the width       that window

`sliding_band` is the join of two windows: RANGE says how long a row of its own side stays
joinable, so l may meet an r at most RANGE_L later and at most RANGE_R earlier:

    l - RANGE_R <= r <= l + RANGE_L

Both ends are closed, so RANGE 0 on both sides pairs equal times. Order of arrival plays no
part: late rows find the same partners. Other join conditions filter the pairs of the band.
Spec: window-queries 2.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from penstock.errors import CannotWindow
from penstock.model.timestamps import format_duration
from penstock.windows.window import require_positive


@dataclass(frozen=True)
class Band:
    """`low <= right - left <= high`, both ends closed."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise CannotWindow(
                f"cannot join from {_offset(self.low)} to {_offset(self.high)}: the band is empty",
                hint="exchange the two ends of the time condition",
            )

    def joins(self, left: int, right: int) -> bool:
        return self.low <= right - left <= self.high

    def __str__(self) -> str:
        return f"right from {_offset(self.low)} to {_offset(self.high)} left"


@dataclass(frozen=True)
class TumblingBand:
    """Both rows lie in the same window: `floor(left / width) = floor(right / width)`."""

    width: int
    origin: int = 0

    def __post_init__(self) -> None:
        require_positive("RANGE TUMBLING", self.width, "time")

    def joins(self, left: int, right: int) -> bool:
        return (left - self.origin) // self.width == (right - self.origin) // self.width

    def __str__(self) -> str:
        return f"both in the same {format_duration(self.width)}"


JoinBand: TypeAlias = Band | TumblingBand


def sliding_band(range_left: int, range_right: int) -> Band:
    """The band of `left [RANGE range_left], right [RANGE range_right]`.

    >>> sliding_band(range_left=3, range_right=2)
    Band(low=-2, high=3)
    """
    for range_ in (range_left, range_right):
        if range_ < 0:
            raise CannotWindow(
                f"cannot join with RANGE {format_duration(range_)}: it must not be negative",
                hint="RANGE says how long a row stays joinable; 0 pairs equal times only",
            )
    return Band(low=-range_right, high=range_left)


def _offset(ticks: int) -> str:
    """A distance from the left row's time, in words."""
    return f"{format_duration(abs(ticks))} {'before' if ticks < 0 else 'after'}"
