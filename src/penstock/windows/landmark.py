"""Landmark windows: everything so far, reported at every step. `[RANGE ALL, SLIDE s, WA on]`.

    extent(w) = { t | t.a < m + (w+1)s }
    wids(t)   = { w | w >= floor((t.a - m) / s) }

Each extent contains all earlier ones, so the ids of a row have no upper end: an operator
keeps what each step adds, and accumulates when steps close. Over a finite set of rows the
ids stop at the step of the greatest value; later extents would repeat that one for ever.
Spec: window-queries 2.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.model.timestamps import END
from penstock.windows.context import WindowContext
from penstock.windows.tagged import Tagged
from penstock.windows.window import (
    Row,
    Unit,
    format_length,
    format_origin,
    present,
    require_positive,
    resolve_origin,
)

Ticks = TypeVar("Ticks")


def first_wid(value: Ticks, slide: int, origin: int = 0) -> Ticks:
    """The first extent that holds the value; all later ones do, too."""
    number: Any = value
    first: Ticks = (number - origin) // slide
    return first


@dataclass(frozen=True)
class Landmark(Tagged):
    """Extents that all begin with the stream and end one slide apart."""

    slide: int
    origin: int = None  # type: ignore[assignment]  # the unit's usual one, filled in below
    unit: Unit = "time"

    # The ids of a row need no other row, but have no end: the specification puts landmark
    # windows here, and so do we, for an operator cannot enumerate them as it can CF ids.
    context: ClassVar[WindowContext] = WindowContext.FORWARD_CONTEXT_FREE

    def __post_init__(self) -> None:
        require_positive("SLIDE", self.slide, self.unit)
        object.__setattr__(self, "origin", resolve_origin(self.origin, self.unit))

    def windows(self, rows: Sequence[Row]) -> Sequence[int]:
        """From the step of the least value to that of the greatest, steps without rows included."""
        values = [row[self.on] for row in present(rows, self.on)]
        if not values:
            return ()
        first = first_wid(min(values), self.slide, self.origin)
        last = first_wid(max(values), self.slide, self.origin)
        return range(first, last + 1)

    def extent(self, wid: int, rows: Sequence[Row]) -> list[Row]:
        _, end = self.covers(wid)
        return [row for row in present(rows, self.on) if row[self.on] < end]

    def wids(self, row: Row, rows: Sequence[Row]) -> Sequence[int]:
        """Up to the last of `windows(rows)`."""
        value = row[self.on]
        if value is None:
            return ()
        return range(first_wid(value, self.slide, self.origin), self.windows(rows)[-1] + 1)

    def wid_range(self, value: Ticks) -> tuple[Ticks, Ticks]:
        first: Any = first_wid(value, self.slide, self.origin)
        return first, first * 0 + END

    def closed_below(self, bound: int) -> int:
        return first_wid(bound, self.slide, self.origin)

    @property
    def grid(self) -> tuple[int, int]:
        return self.slide, self.origin

    def covers(self, wid: Ticks) -> tuple[None, Ticks]:
        number: Any = wid
        return None, self.origin + (number + 1) * self.slide

    @property
    def progresses(self) -> tuple[bool, bool]:
        return False, True  # there is no start

    def __str__(self) -> str:
        slide = format_length(self.slide, self.unit)
        return f"[RANGE ALL, SLIDE {slide}, WA {self.on}{format_origin(self.origin, self.unit)}]"
