"""How far a row's own time lies behind its arrival.

    band    every row is late by a random time of at most `band`: disorder is bounded
    block   rows come in blocks: those of one stretch of time come in the next one, shuffled, as
            from a router that empties its cache every minute
    lag     all rows come that much later: no disorder within the stream, but skew against others

The slack that a stream needs follows: no row is further below the newest one than that. A row's
time is never in the future, so what comes after a lull may still belong into the lull.

Spec: window-queries 8 "Data recipes".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.errors import BadSetting
from penstock.workloads.draws import Draws, Integers
from penstock.workloads.options import WorkloadOptions, check_length


@dataclass(frozen=True)
class Disorder:
    """A stream's disorder; all lengths in ticks, 0 for none."""

    band: int = 0
    block: int = 0
    lag: int = 0

    def __post_init__(self) -> None:
        check_length("disorder", self.band)
        check_length("block", self.block)
        check_length("lag", self.lag)
        if self.band and self.block:
            raise BadSetting(
                "rows can come out of order within a band or in blocks, not both",
                hint="leave out `disorder` or `block`",
            )

    @classmethod
    def from_options(cls, options: WorkloadOptions) -> Disorder:
        return cls(
            band=options.length("disorder", 0),
            block=options.length("block", 0),
            lag=options.length("lag", 0),
        )

    @property
    def slack(self) -> int:
        """How far below the newest time a row may still come."""
        return self.block - 1 if self.block else self.band

    def event_times(self, draws: Draws, first: int, arrivals: Integers) -> Integers:
        """The own times of the rows from `first` on, which come at `arrivals`."""
        if self.block:
            emptied = np.floor_divide(arrivals, self.block) * self.block
            age = 1 + draws.below(self.block, "age", first, len(arrivals))
            return emptied - age - self.lag
        if self.band:
            return arrivals - draws.below(self.band + 1, "delay", first, len(arrivals)) - self.lag
        return arrivals - self.lag
