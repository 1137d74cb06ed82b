"""Landmark windows: everything so far, reported at every step. `[RANGE ALL, SLIDE s, WA on]`.

    extent(w) = { t | t.a < m + (w+1)s }
    wids(t)   = { w | w >= floor((t.a - m) / s) }

Each extent contains all earlier ones, so the ids of a row have no upper end: an operator
keeps what each step adds, and accumulates when steps close. Over a finite set of rows the
ids are the steps in which rows lie: the extent of any other repeats the one before it.
Spec: window-queries 2.4, where every step is reported.
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
        """The steps in which rows lie."""
        return sorted({self.wid_range(row[self.on])[0] for row in present(rows, self.on)})

    def wids(self, row: Row, rows: Sequence[Row]) -> Sequence[int]:
        """Those of `windows(rows)` from its own step on."""
        value = row[self.on]
        if value is None:
            return ()
        return [wid for wid in self.windows(rows) if wid >= self.wid_range(value)[0]]

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
