"""Windows that move with the rows: "the last 5 minutes, at every 5th packet".

Rows themselves say where extents end; an id is the value of RATTR (`on`) at such a row.

    kind                which rows end an extent
    SlideByTuple        every row
    SlideByRowNumber    those whose row number is a multiple of n    SATTR row-num
    SlideByRank         those whose rank by RATTR is a multiple of n SATTR rank(RATTR)

    extent(w) = { u | w - r < u.ra <= w }            wids(t) = { w in W | t.ra <= w < t.ra + r }

Note: left-open and right-closed, the reverse of sliding windows, so that the row that ends
an extent is in it. Ticks are integers, so `bounds` can still present it half-open.

Row numbers and ranks count from 1: the n-th, 2n-th, … row ends an extent. Equal values of
RATTR are ranked in order of arrival; rows that end an extent at the same value end the same
one, which is reported once.  Spec: window-queries 2.4.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.windows.tagged import Tagged, Ticks
from penstock.windows.window import Row, format_length, present, require_positive


@dataclass(frozen=True)
class EndedByRows(Tagged):
    """What the three kinds share: all but the choice of the rows that end an extent."""

    range: int

    def __post_init__(self) -> None:
        require_positive("RANGE", self.range, "time")

    @abstractmethod
    def ending_rows(self, rows: Sequence[Row]) -> list[Row]:
        """The rows that end an extent; `rows` have a value in `on`."""

    def windows(self, rows: Sequence[Row]) -> Sequence[int]:
        return sorted({row[self.on] for row in self.ending_rows(present(rows, self.on))})

    def wids(self, row: Row, rows: Sequence[Row]) -> Sequence[int]:
        possible = super().wids(row, rows)
        return [wid for wid in self.windows(rows) if wid in possible]

    def wid_range(self, value: Ticks) -> tuple[Ticks, Ticks]:
        number: Any = value
        return number, number + self.range

    def covers(self, wid: Ticks) -> tuple[Ticks, Ticks]:
        """(w - r, w] written half-open."""
        number: Any = wid
        return number - self.range + 1, number + 1

    @property
    def equally_long(self) -> bool:
        return True

    def _clause(self, slide: str, slide_on: str) -> str:
        range_ = format_length(self.range, "time")
        return f"[RANGE {range_}, RATTR {self.on}, SLIDE {slide}, SATTR {slide_on}]"


@dataclass(frozen=True)
class SlideByTuple(EndedByRows):
    """`SLIDE 1 row`: every row ends an extent, so by number or by rank is all the same."""

    def ending_rows(self, rows: Sequence[Row]) -> list[Row]:
        return list(rows)

    def __str__(self) -> str:
        return self._clause("1 row", f"rank({self.on})")


@dataclass(frozen=True)
class SlideByRowNumber(EndedByRows):
    """`SLIDE n rows, SATTR row-num`: every n-th row in order of arrival ends an extent."""

    every: int
    slide_on: str

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("SLIDE", self.every, "rows")

    def ending_rows(self, rows: Sequence[Row]) -> list[Row]:
        return [row for row in present(rows, self.slide_on) if row[self.slide_on] % self.every == 0]

    def columns(self) -> frozenset[str]:
        return frozenset({self.on, self.slide_on})

    def __str__(self) -> str:
        return self._clause(format_length(self.every, "rows"), self.slide_on)


@dataclass(frozen=True)
class SlideByRank(EndedByRows):
    """`SLIDE n rows, SATTR rank(RATTR)`: every n-th row in logical order ends an extent."""

    every: int

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("SLIDE", self.every, "rows")

    def ending_rows(self, rows: Sequence[Row]) -> list[Row]:
        # Sorting is stable, so equal values keep their order of arrival.
        ranked = sorted(rows, key=lambda row: row[self.on])
        return ranked[self.every - 1 :: self.every]

    def __str__(self) -> str:
        return self._clause(format_length(self.every, "rows"), f"rank({self.on})")
