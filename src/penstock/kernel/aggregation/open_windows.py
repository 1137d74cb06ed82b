"""How many windows with rows are open at a time, which is limited.

Each of them will have a result. Where windows are long and their slide is short, rows that are far
apart open many, and a bound that passes all of them asks for more results than there is memory.
So rows that open too many are an error when they come.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.errors import TooManyWindows
from penstock.kernel.aggregates.grouping import Ids
from penstock.windows import MOST_OPEN
from penstock.windows.tagged import Tagged


class OpenWindows:
    """Counts from above what is added, and exactly where that becomes too much."""

    def __init__(self, window: Tagged) -> None:
        self.window = window
        self._most = 0

    def add(self, start: Ids, stop: Ids, known: Callable[[], tuple[Ids, Ids]]) -> None:
        """Check what windows there are with these ranges besides those that are `known`."""
        if not len(start):
            return
        span = int(stop.max()) - int(start.min())
        self._most += span if span < FEW else _count(start, stop)
        if self._most <= MOST_OPEN:
            return
        others, ends = known()
        self._most = _count(np.concatenate((others, start)), np.concatenate((ends, stop)))
        if self._most > MOST_OPEN:
            raise too_many(self.window, self._most)


def too_many(window: Tagged, count: int) -> TooManyWindows:
    return TooManyWindows(
        f"rows lie in {count:,} windows {window} that are open at a time, and a query can have "
        f"{MOST_OPEN:,}",
        hint="take a longer SLIDE, a shorter RANGE or less SLACK, or reject rows with far-off "
        "times (SET max_jump, MAX AHEAD); a checkpoint stays as it was before these rows",
    )


#: A span of so many ids need not be counted exactly.
FEW = 1 << 12


def _count(start: Ids, stop: Ids) -> int:
    """The ids that lie in any of these ranges.

    >>> _count(np.array([5, 1, 2]), np.array([9, 3, 4]))
    7
    """
    order = np.argsort(start, kind="stable")
    start, stop = start[order], np.maximum.accumulate(stop[order])
    begins = np.maximum(start[1:], stop[:-1])
    return int(stop[0] - start[0] + np.maximum(stop[1:] - begins, 0).sum())
