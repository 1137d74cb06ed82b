"""Spent: the processor time that an operator takes, in all and for a row.

A clock of the processor is slow to read, and one on the wall also goes on while others work. So
steps are timed by the wall, and what a run of many steps took of the processor, which is looked at
now and then, is shared out by that. What was spent lately counts more: with every 65,536 rows that
come, what was before loses half of its weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.kernel.graph import GraphNode

#: Rows after which what was spent before has half its weight.
HALF_LIFE = 65_536
#: Of so many runs, one is timed by the clock of the processor.
ONE_IN = 8


@dataclass
class Spent:
    """Nanoseconds of the processor; `lately` and `rows` are decayed."""

    total: float = 0.0
    lately: float = 0.0
    rows: float = 0.0

    def add(self, nanoseconds: float, rows: int) -> None:
        kept = 0.5 ** (rows / HALF_LIFE)
        self.total += nanoseconds
        self.lately = self.lately * kept + nanoseconds
        self.rows = self.rows * kept + rows


class StepTimes:
    """How long each operator took in one run, by clocks of the host, in nanoseconds."""

    def __init__(self, wall: Callable[[], int], processor: Callable[[], int]) -> None:
        self.wall = wall
        self._processor = processor
        self._taken: dict[GraphNode, list[int]] = {}  # nanoseconds, rows
        self._runs = 0
        self._began = (0, 0)
        self._share = 1.0  # of the time that a run takes, what it takes of the processor

    def begin(self) -> None:
        """A run begins."""
        if self._runs % ONE_IN == 0:
            self._began = self.wall(), self._processor()

    def note(self, node: GraphNode, nanoseconds: int, rows: int) -> None:
        """A step of an operator has taken so long."""
        taken = self._taken.setdefault(node, [0, 0])
        taken[0] += nanoseconds
        taken[1] += rows

    def end(self) -> None:
        """A run has ended: operators have spent their shares of it."""
        if self._runs % ONE_IN == 0:
            wall, processor = self.wall() - self._began[0], self._processor() - self._began[1]
            self._share = processor / wall if wall > 0 else self._share
        self._runs += 1
        for node, (nanoseconds, rows) in self._taken.items():
            node.spent.add(nanoseconds * self._share, rows)
        self._taken.clear()
