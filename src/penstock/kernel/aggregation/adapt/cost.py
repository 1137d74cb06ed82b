"""When a group is better kept as partial aggregates, and when as rows: AdaptWID's cost condition.

    MC_eager  = entry wed / SLIDE                                one partial per open window  (6.5)
    numTuples = vol wed - sum over sources K of vol_K offset_K                                (6.7)
    MC_lazy   = row numTuples                                    the rows that are waiting    (6.8)
    eager     iff winVol > entry wed / (row SLIDE) + sum of vol_K offset_K                    (6.9)

`row` and `entry` are sizes in bytes. `wed` is how long windows are open, `winVol` counts a group's
rows that are still in an open window. A source that is behind by its offset has its rows wait that
much shorter. Sources are measured for all groups together, since a counter per group and source
would cost more than there is to save: with `lag` the mean offset of a row, the sum is
winVol lag / wed.

WID lets neighbouring windows with the same rows share one entry, so a row brings about at most two:
where an entry is at most half as large as a row, there is nothing to gain by being lazy.

A group that went back and forth would pay for both; so it becomes lazy at a lower volume than it
becomes eager at (hysteresis).  Spec: window-queries 5.3, 5.4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: The threshold of eager -> lazy, relative to that of lazy -> eager.
HYSTERESIS = 0.8


@dataclass(frozen=True)
class Conditions:
    """What was measured; lengths in units of the windowing attribute."""

    row: float
    entry: float
    duration: float  # wed
    slide: int
    lag: float = 0.0


@dataclass(frozen=True)
class Thresholds:
    """A lazy group with a volume above `up` becomes eager, an eager one below `down` lazy."""

    up: float
    down: float


def thresholds(given: Conditions) -> Thresholds:
    """The volumes at which it pays to change.

    >>> thresholds(Conditions(row=20, entry=40, duration=10, slide=1))
    Thresholds(up=20.0, down=16.0)
    >>> thresholds(Conditions(row=20, entry=40, duration=10, slide=1, lag=5)).up
    40.0
    """
    if given.row >= 2 * given.entry:
        return Thresholds(0.0, 0.0)
    waiting = 1 - given.lag / max(given.duration, 1)
    if waiting <= 0:
        return Thresholds(math.inf, math.inf)
    windows = max(given.duration / given.slide, 1)
    up = given.entry * windows / (given.row * waiting)
    return Thresholds(up, HYSTERESIS * up)
