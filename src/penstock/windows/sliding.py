"""Sliding and tumbling windows, over time or over row numbers.

Extent w ends at the (w+1)-th step after the origin m and reaches back by the range:

    extent(w) = { t | m + (w+1)s - r <= t.a < m + (w+1)s }
    wids(t)   = [ floor((t.a - m) / s), floor((t.a + r - m) / s) )

The least value of the stream would be the natural origin, but over a disordered stream
nobody knows it in time. So the origin is fixed and ids run over all integers: operators
agree on them without talking, and values before the origin need no special case. Extents
that begin before the first row are partial. Where SLIDE exceeds RANGE, the rows in the
gaps belong to no extent.

With origin 0 extents END at multiples of the slide. `window(ts, size, slide)` and HOP of
other systems let them START there; `origin_for_aligned_starts` turns one into the other,
and it makes no difference where the slide divides the range.  Spec: window-queries 2.4, 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from penstock.windows.tagged import Tagged
from penstock.windows.window import (
    Row,
    Unit,
    format_length,
    format_origin,
    require_positive,
    resolve_origin,
)

Ticks = TypeVar("Ticks")


def wid_bounds(value: Ticks, range_: int, slide: int, origin: int = 0) -> tuple[Ticks, Ticks]:
    """First id that holds the value, and the first after it that does not.

    Uses nothing but + - and //, so that integers, NumPy arrays and Polars expressions all
    pass; all three round // down, which is what makes values before the origin right.

    >>> wid_bounds(5, range_=600, slide=60)
    (0, 10)
    """
    number: Any = value
    return (number - origin) // slide, (number + range_ - origin) // slide


def origin_for_aligned_starts(range_: int, slide: int, offset: int = 0) -> int:
    """The origin with which extents start, instead of end, at multiples of `slide` + `offset`.

    >>> Sliding("ts", 10, 3, origin_for_aligned_starts(10, 3)).covers(0)[0] % 3
    0
    """
    return (range_ + offset) % slide


@dataclass(frozen=True)
class Sliding(Tagged):
    """`[RANGE r, SLIDE s, WA on]`; tumbling where the two are equal."""

    range: int
    slide: int
    origin: int = None  # type: ignore[assignment]  # the unit's usual one, filled in below
    unit: Unit = "time"

    def __post_init__(self) -> None:
        require_positive("RANGE", self.range, self.unit)
        require_positive("SLIDE", self.slide, self.unit)
        object.__setattr__(self, "origin", resolve_origin(self.origin, self.unit))

    def wids(self, row: Row, rows: Sequence[Row]) -> Sequence[int]:
        """By the formula as it stands, for it judges those who use `wid_range`."""
        value = row[self.on]
        if value is None:
            return ()
        return range(*wid_bounds(value, self.range, self.slide, self.origin))

    @property
    def most_of_row(self) -> int:
        return -(-self.range // self.slide)

    def wid_range(self, value: Ticks) -> tuple[Ticks, Ticks]:
        if self.range % self.slide:
            return wid_bounds(value, self.range, self.slide, self.origin)
        # All values are in as many windows; and the first is the first open one at that time.
        number: Any = value
        first = (number - self.origin) // self.slide
        return first, first + self.range // self.slide

    @property
    def grid(self) -> tuple[int, int]:
        return self.slide, self.origin

    def covers(self, wid: Ticks) -> tuple[Ticks, Ticks]:
        number: Any = wid
        end = self.origin + (number + 1) * self.slide
        return end - self.range, end

    def bounds(self, wid: int) -> tuple[int, int]:
        return self.covers(wid)

    @property
    def equally_long(self) -> bool:
        return self.range % self.slide == 0

    @property
    def has_gaps(self) -> bool:
        return self.slide > self.range

    def __str__(self) -> str:
        range_ = format_length(self.range, self.unit)
        slide = format_length(self.slide, self.unit)
        origin = format_origin(self.origin, self.unit)
        return f"[RANGE {range_}, SLIDE {slide}, WA {self.on}{origin}]"


def ends_with(shorter: Sliding, longer: Sliding) -> bool:
    """Whether every extent of one ends together with an extent of the other, and is part of it.

    >>> ends_with(Sliding("ts", 5, 2), Sliding("ts", 9, 2))
    True
    """
    one = (shorter.on, shorter.slide, shorter.origin, shorter.unit)
    other = (longer.on, longer.slide, longer.origin, longer.unit)
    return one == other and shorter.range <= longer.range


def tumbling(on: str, width: int, unit: Unit = "time") -> Sliding:
    """Extents side by side: every row is in exactly one."""
    return Sliding(on, width, width, unit=unit)
