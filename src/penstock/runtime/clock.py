"""Clocks: what time it is, in ticks, and how time passes.

On a real clock time passes by itself. On a virtual one it passes only by what work is declared to
cost, and by waiting for the next arrival; so a latency measured on it is exact, and the same on
every machine.
"""

from __future__ import annotations

import time
from typing import Protocol

from penstock.errors import PenstockBug


class Clock(Protocol):
    """What a host needs to know of time."""

    def now(self) -> int: ...

    def spend(self, ticks: int) -> None:
        """Let the declared cost of some work pass."""
        ...


class RealClock:
    """The system's time; it never goes back, even where the system's does."""

    def __init__(self) -> None:
        self._newest = 0

    def now(self) -> int:
        # Corrections of the system's time may set it back; stamps must stay in order.
        self._newest = max(self._newest, time.time_ns() // 1000)
        return self._newest

    def spend(self, ticks: int) -> None:
        """Work takes the time it takes."""


class VirtualClock:
    """Time that stands still unless told otherwise."""

    def __init__(self, start: int = 0) -> None:
        self._now = start

    def now(self) -> int:
        return self._now

    def spend(self, ticks: int) -> None:
        if ticks < 0:
            raise PenstockBug(f"time cannot go backwards by {-ticks} ticks")
        self._now += ticks

    def wait_until(self, ticks: int) -> None:
        """Do nothing up to a point in time; one that has passed is no wait."""
        self._now = max(self._now, ticks)
