"""Slices: how much of the past a batch takes, beside what comes.

As much as takes about as long as a batch may, so that the others wait for their results no longer
than two triggers; but always more than comes meanwhile, or it would never end. Streams go forward
side by side, by the age of their files, as they did the first time: a join of two would otherwise
keep all of one until the other comes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from penstock.spark.catching_up.history import HistoryEntry

#: Bytes of files that the first slice takes, and the least of any other.
LEAST = 4 << 20
#: A slice may always have so many times the bytes that the batch itself brings.
AHEAD = 3
#: Seconds that a batch may take with its slice, if triggers do not come more slowly anyway.
PATIENCE = 1.0


def next_slice(left: Mapping[str, Sequence[HistoryEntry]], most: int) -> dict[str, int]:
    """By stream, the last entry of a slice that has so many bytes at the most, but one entry."""
    ends: dict[str, int] = {}
    taken = 0
    places = dict.fromkeys(left, 0)
    while open_ := {name: left[name][at] for name, at in places.items() if at < len(left[name])}:
        name = min(open_, key=lambda name: open_[name].time)
        taken += open_[name].bytes
        if ends and taken > most:
            return ends
        ends[name] = open_[name].number
        places[name] += 1
    return ends


class SliceSize:
    """How many bytes a slice has; `interval`: from one trigger to the next, as Spark takes it."""

    def __init__(self, interval: str = "") -> None:
        self.most = LEAST
        self._aim = max(PATIENCE, seconds_in(interval))

    def note(self, seconds: float) -> None:
        """A batch with a slice has taken so long."""
        if seconds < self._aim / 2:
            self.most *= 2
        elif seconds > self._aim:
            self.most = max(LEAST, self.most // 2)


def seconds_in(interval: str) -> float:
    """How long an interval between triggers is; 0: it is said in words that are not known here.

    >>> seconds_in("5 seconds"), seconds_in("500 milliseconds"), seconds_in("a while")
    (5.0, 0.5, 0.0)
    """
    found = re.fullmatch(r"\s*([\d.]+)\s*(millisecond|second|minute|hour)s?\s*", interval.lower())
    return 0.0 if found is None else float(found[1]) * _SECONDS[found[2]]


_SECONDS = {"millisecond": 0.001, "second": 1.0, "minute": 60.0, "hour": 3600.0}
