"""An auction house in the manner of NEXMark: one sequence of events that three workloads look at.

Of every 50 events the first is a person, the next three are auctions and the rest are bids. With
the same seed, rate, start, lulls and bursts, `persons`, `auctions` and `bids` show the same
sequence: they fit together in time, and whoever is mentioned has come before. `rate` counts all
events.

As in the benchmark, half of the bids go to a hot auction, and three in four bidders and sellers are
a hot person; others are drawn from those who came last. Its column `extra`, which only fills space,
is left out.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.workloads.draws import Draws, Integers
from penstock.workloads.workload import Workload

ROUND = 50
FIRST_ID = 1000  # of persons, and of auctions
OPEN_AUCTIONS = 100  # how many of the last auctions get bids
ACTIVE_PERSONS = 1000  # how many of the last persons sell and bid
_EVENTS_AT_ONCE = 1 << 20
_HOT_FOR = 100  # so many newcomers later, another one is hot


@dataclass(frozen=True, kw_only=True)
class AuctionHouse(Workload):
    """The events of one kind: in each round `per_round`, from number `offset` of the round on."""

    timestamp: ClassVar[str] = "dateTime"
    offset: ClassVar[int]
    per_round: ClassVar[int]

    def rounds(self, first: int, count: int) -> Integers:
        """The rounds to which these rows belong."""
        return np.arange(first, first + count, dtype=np.int64) // self.per_round

    def _arrival_times(self, first: int, count: int) -> Integers:
        # Piece by piece: up to 49 of 50 events are somebody else's, and need not be held together.
        piece = _EVENTS_AT_ONCE // ROUND * self.per_round
        stop = first + count
        cuts = [*range(first, stop, piece), stop]
        pieces = [self._piece(begin, end) for begin, end in itertools.pairwise(cuts)]
        return np.concatenate([np.empty(0, dtype=np.int64), *pieces])

    def _piece(self, first: int, stop: int) -> Integers:
        """When rows first … stop - 1 come; there is at least one."""
        row = np.arange(first, stop, dtype=np.int64)
        event = row // self.per_round * ROUND + self.offset + row % self.per_round
        begin, end = int(event[0]), int(event[-1])
        times = self.arrivals.times(self._house, begin, end - begin + 1)
        return np.take(times, event - begin)

    def _arrived(self, tick: int) -> int:
        full, rest = divmod(self.arrivals.before(self._house, tick), ROUND)
        return full * self.per_round + min(max(rest - self.offset, 0), self.per_round)

    @property
    def _house(self) -> Draws:
        """The random numbers that all three share."""
        return Draws(self.seed, "auction house")

    def mention(self, who: str, first: int, newest: Integers, recent: int, hot: float) -> Integers:
        """For each row the id of a person or an auction: with chance `hot` the hot one.

        `newest` is the number of the last that has come before the row; the others are among the
        last `recent` ones.
        """
        count = len(newest)
        back = self.draws.uniform(f"{who}, back", first, count) * np.minimum(newest + 1, recent)
        is_hot = self.draws.uniform(f"{who}, hot", first, count) < hot
        number = np.where(is_hot, newest // _HOT_FOR * _HOT_FOR, newest - back.astype(np.int64))
        return FIRST_ID + number

    def amounts(self, what: str, first: int, count: int) -> Integers:
        """Money in cents: from 1 to 1,000,000, evenly on the scale of its logarithm."""
        exponent = 6 * self.draws.uniform(what, first, count)
        return np.rint(100 * 10**exponent).astype(np.int64)
