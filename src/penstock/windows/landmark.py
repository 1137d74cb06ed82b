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
from typing import Any, TypeVar

from penstock.model.timestamps import END
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


@dataclass(frozen=True)
class Landmark(Tagged):
    """Extents that all begin with the stream and end one slide apart."""

    slide: int
    origin: int = None  # type: ignore[assignment]  # the unit's usual one, filled in below
    unit: Unit = "time"

    def __post_init__(self) -> None:
        require_positive("SLIDE", self.slide, self.unit)
        object.__setattr__(self, "origin", resolve_origin(self.origin, self.unit))

    def windows(self, rows: Sequence[Row]) -> Sequence[int]:
        """From the step of the least value to that of the greatest, steps without rows included."""
        steps = [self.wid_range(row[self.on])[0] for row in present(rows, self.on)]
        return range(min(steps), max(steps) + 1) if steps else ()

    def wids(self, row: Row, rows: Sequence[Row]) -> Sequence[int]:
        """Up to the last of `windows(rows)`."""
        value = row[self.on]
        return () if value is None else range(self.wid_range(value)[0], self.windows(rows)[-1] + 1)

    def wid_range(self, value: Ticks) -> tuple[Ticks, Ticks]:
        number: Any = value
        first = (number - self.origin) // self.slide
        return first, first * 0 + END

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
