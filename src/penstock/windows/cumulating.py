"""Cumulating windows: a long period, reported as it fills. `CUMULATE(TABLE t, …, step, size)`.

"Visitors since midnight, every hour": within each period of length `size` the extents all
start with the period and end one `step` apart; the last of them is the whole period.

    step    |0  |1  |2  |3  |4  |5  |6          size = 3 steps
    extent 0 ████
    extent 1 ████████
    extent 2 ████████████
    extent 3             ████

An extent is numbered by the step that ends it, so ids are ordered by the end and close like
those of a tumbling window of one step.
The windows are those of Flink's table function of this name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from penstock.errors import CannotWindow
from penstock.windows.tagged import Tagged
from penstock.windows.window import format_length, require_positive

Ticks = TypeVar("Ticks")


@dataclass(frozen=True)
class Cumulating(Tagged):
    """Periods of `size`, each reported at every `step`."""

    step: int
    size: int
    origin: int = 0

    def __post_init__(self) -> None:
        require_positive("step", self.step, "time")
        require_positive("size", self.size, "time")
        if self.size % self.step:
            size, step = format_length(self.size, "time"), format_length(self.step, "time")
            raise CannotWindow(
                f"cannot cumulate {size} in steps of {step}: the last step would not fit",
                hint="choose a size that is a multiple of the step",
            )

    @property
    def most_of_row(self) -> int:
        return self.size // self.step

    def wid_range(self, value: Ticks) -> tuple[Ticks, Ticks]:
        """From the value's own step to the last of its period.

        >>> Cumulating("ts", step=10, size=60).wid_range(25)
        (2, 6)
        """
        number: Any = value
        step = (number - self.origin) // self.step
        steps = self.size // self.step
        return step, (step // steps + 1) * steps

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
