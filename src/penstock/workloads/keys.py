"""Which of many things a row is about: evenly, or after Zipf's law.

With skew s, key k is drawn in proportion to 1 / (k + 1)^s: 0 is even, 1 the law that words and
addresses follow, and the hottest key is always 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from penstock.workloads.draws import Draws, Floats, Integers
from penstock.workloads.options import WorkloadOptions, check_range

MOST_KEYS = 10_000_000


@dataclass(frozen=True)
class KeyDistribution:
    """The keys 0 … count - 1 and how unevenly they are used."""

    count: int
    skew: float = 0.0

    def __post_init__(self) -> None:
        check_range("keys", self.count, 1, MOST_KEYS)
        check_range("skew", self.skew, 0, 10)

    @classmethod
    def from_options(cls, options: WorkloadOptions, count: int, skew: float) -> KeyDistribution:
        """As the options say; `count` and `skew` are the workload's own."""
        return cls(count=options.whole("keys", count), skew=options.number("skew", skew))

    def draw(self, draws: Draws, sequence: str, first: int, count: int) -> Integers:
        """The keys of rows first … first + count - 1."""
        if self.skew == 0:
            return draws.below(self.count, sequence, first, count)
        chances = draws.uniform(sequence, first, count)
        return np.searchsorted(_cumulated(self.count, self.skew), chances, side="right")


@lru_cache(maxsize=4)  # up to 80 MB each
def _cumulated(count: int, skew: float) -> Floats:
    """The chance that a key is at most k, for every k."""
    shares = np.arange(1, count + 1, dtype=np.float64) ** -skew
    cumulated: Floats = np.cumsum(shares)
    cumulated /= cumulated[-1]
    return cumulated
