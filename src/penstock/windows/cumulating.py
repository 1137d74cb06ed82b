"""Cumulating windows: a long period, reported as it fills. `CUMULATE(TABLE t, …, step, size)`.

"Visitors since midnight, every hour": within each period of length `size` the extents all
start with the period and end one `step` apart; the last of them is the whole period.

    step    |0  |1  |2  |3  |4  |5  |6          size = 3 steps
    extent 0 ████
    extent 1 ████████
    extent 2 ████████████
    extent 3             ████

An extent is numbered by the step that ends it, so ids are ordered by the end and close like
those of a tumbling window of one step: `sliding.closed_below(bound, step, origin)`.
The windows are those of Flink's table function of this name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.errors import CannotWindow
from penstock.windows.context import WindowContext
from penstock.windows.tagged import Tagged
from penstock.windows.window import Row, format_length, present, require_positive

Ticks = TypeVar("Ticks")


def wid_bounds(value: Ticks, step: int, size: int, origin: int = 0) -> tuple[Ticks, Ticks]:
    """First id that holds the value, and the first of the next period.

    >>> wid_bounds(25, step=10, size=60)
    (2, 6)
    """
    number: Any = value
    steps = size // step
    return (number - origin) // step, ((number - origin) // size + 1) * steps


def extent(wid: int, step: int, size: int, origin: int = 0) -> range:
    """The values that extent `wid` holds.

    >>> extent(2, step=10, size=60)
    range(0, 30)
    """
    steps = size // step
    return range(origin + wid // steps * size, origin + (wid + 1) * step)


@dataclass(frozen=True)
class Cumulating(Tagged):
    """Periods of `size`, each reported at every `step`."""

    step: int
    size: int
    origin: int = 0

    context: ClassVar[WindowContext] = WindowContext.CONTEXT_FREE

    def __post_init__(self) -> None:
        require_positive("step", self.step, "time")
        require_positive("size", self.size, "time")
        if self.size % self.step:
            size, step = format_length(self.size, "time"), format_length(self.step, "time")
            raise CannotWindow(
                f"cannot cumulate {size} in steps of {step}: the last step would not fit",
                hint="choose a size that is a multiple of the step",
            )

    def windows(self, rows: Sequence[Row]) -> Sequence[int]:
        return sorted({wid for row in rows for wid in self.wids(row, rows)})

    def extent(self, wid: int, rows: Sequence[Row]) -> list[Row]:
        values = extent(wid, self.step, self.size, self.origin)
        return [row for row in present(rows, self.on) if row[self.on] in values]

    def wids(self, row: Row, rows: Sequence[Row]) -> Sequence[int]:
        """From the row's own step to the last of its period."""
        value = row[self.on]
        if value is None:
            return ()
        return range(*wid_bounds(value, self.step, self.size, self.origin))

    def wid_range(self, value: Ticks) -> tuple[Ticks, Ticks]:
        return wid_bounds(value, self.step, self.size, self.origin)

    def closed_below(self, bound: int) -> int:
        return (bound - self.origin) // self.step

    @property
    def grid(self) -> tuple[int, int]:
        return self.step, self.origin

    def covers(self, wid: Ticks) -> tuple[Ticks, Ticks]:
        number: Any = wid
        start = self.origin + number // (self.size // self.step) * self.size
        return start, self.origin + (number + 1) * self.step

    def __str__(self) -> str:
        step, size = format_length(self.step, "time"), format_length(self.size, "time")
        origin = f", {format_length(self.origin, 'time')}" if self.origin else ""
        return f"CUMULATE({self.on}, {step}, {size}{origin})"
