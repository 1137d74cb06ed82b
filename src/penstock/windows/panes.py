"""Panes: the pieces that windows of one attribute are put together from.

A pane is as long as the greatest common divisor of RANGE and SLIDE, so every window is a whole
number of panes, and windows that overlap share them. Panes of several windows are as long as the
divisor they all have in common, and begin where windows of all of them can begin.

    window [RANGE 9, SLIDE 6]    panes of 3: windows of 3 panes, every 2 panes
Spec: window-queries 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from penstock.windows.sliding import Sliding


@dataclass(frozen=True)
class Panes:
    """Pane p holds the values from origin + p * length on."""

    on: str
    length: int
    origin: int

    def fit(self, window: Sliding) -> bool:
        """Whether the window can be put together from these panes."""
        return (
            window.on == self.on
            and window.range % self.length == 0
            and window.slide % self.length == 0
            and (window.origin - self.origin) % self.length == 0
        )

    def per_window(self, window: Sliding) -> int:
        return window.range // self.length

    def of_panes(self, window: Sliding) -> Sliding:
        """The same window, measured in panes: the window-level query.

        >>> str(Panes("ts", 3, 0).of_panes(Sliding("ts", 9, 6)))
        '[RANGE 3, SLIDE 2, WA ts]'
        """
        origin = (window.origin - self.origin) // self.length
        slide = window.slide // self.length
        return Sliding(self.on, self.per_window(window), slide, origin, "number")


def common_panes(windows: Iterable[Sliding]) -> Panes:
    """The longest panes that all the windows can be put together from."""
    first, *others = windows
    length = math.gcd(first.range, first.slide)
    for window in others:
        length = math.gcd(length, window.range, window.slide, window.origin - first.origin)
    return Panes(first.on, length, first.origin % length)
