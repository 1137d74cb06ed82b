"""Group densities: packets in which many groups are small and most rows belong to few large ones.

    srcIP STRING, len INT, ts TIMESTAMP        srcIP holds the number of the group

    data set              DS1   DS2   DS3   DS4   DS5
    share of groups, %
      small (1 row)        39    66    77    82    87
      medium (about 15)    51    28    19    15    11
      large (about 300)    10     6     4     3     2
    share of rows, %
      small                 1     3     5     7     9
      medium               20    20    20    20    20
      large                79    77    75    73    71

Each second holds `rate` rows and the same groups with the same sizes, shuffled: the shares of rows
are exact in every tumbling window of a second, those of the groups follow.  Spec: window-queries 8,
Tab 6-2, experiment A1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
import polars as pl

from penstock.workloads.arrivals import START, ArrivalPattern
from penstock.workloads.draws import Integers
from penstock.workloads.options import WorkloadOptions, check_choice, check_range
from penstock.workloads.packets import SIZES
from penstock.workloads.workload import Values, Workload

#: Data set -> percentage of the rows that are in small groups.
SMALL_SHARE = {"ds1": 1, "ds2": 3, "ds3": 5, "ds4": 7, "ds5": 9}
MEDIUM_SHARE = 20
MEDIUM_SIZE, LARGE_SIZE = 15, 300
RATE = 4000


def _by_the_second(rate: int, start: int = START) -> ArrivalPattern:
    """Arrivals whose chunks are seconds, so that each second holds every group whole."""
    return ArrivalPattern(rate=rate, start=start, chunk=rate)


@dataclass(frozen=True, kw_only=True)
class Densities(Workload):
    """One of the five data sets; rows are in order."""

    arrivals: ArrivalPattern = field(default_factory=lambda: _by_the_second(RATE))
    dataset: str = "ds1"

    name: ClassVar[str] = "densities"
    declaration: ClassVar[str] = "srcIP STRING, len INT, ts TIMESTAMP"

    def __post_init__(self) -> None:
        check_choice("dataset", self.dataset, SMALL_SHARE)

    @classmethod
    def from_options(cls, options: WorkloadOptions, seed: int) -> Densities:
        rate = options.whole("rate", RATE)
        check_range("rate", rate, 1000, 1_000_000)
        return cls(
            seed=seed,
            arrivals=_by_the_second(rate, options.moment("start", START)),
            total=options.count("rows"),
            dataset=options.choice("dataset", SMALL_SHARE, "ds1"),
        )

    def values(self, first: int, times: Integers) -> Mapping[str, Values]:
        count, second = len(times), self.arrivals.chunk
        start, stop = first // second, -(-(first + count) // second)
        order = self.draws.uniform("order", start * second, (stop - start) * second)
        shuffled = np.argsort(order.reshape(stop - start, second), axis=1).reshape(-1)
        place = shuffled[first - start * second :][:count]
        group = np.take(_groups(self.dataset, second), place)
        return {
            "srcIP": pl.Series(group).cast(pl.String),
            "len": SIZES[self.draws.below(len(SIZES), "len", first, count)],
        }


@lru_cache(maxsize=16)
def _groups(dataset: str, rows: int) -> Integers:
    """The group of each of a second's rows, before they are shuffled."""
    small = round(rows * SMALL_SHARE[dataset] / 100)
    medium = round(rows * MEDIUM_SHARE / 100)
    large = rows - small - medium
    sizes = np.concatenate(
        [
            np.ones(small, dtype=np.int64),
            _about(MEDIUM_SIZE, medium),
            _about(LARGE_SIZE, large),
        ]
    )
    return np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)


def _about(size: int, rows: int) -> Integers:
    """So many rows, divided into groups from half to one and a half times that size.

    >>> _about(15, 60).tolist()
    [8, 12, 18, 22]
    """
    groups = max(1, round(rows / size))
    cuts = np.cumsum(np.linspace(0.5, 1.5, groups))
    whole: Integers = np.rint(cuts / cuts[-1] * rows).astype(np.int64)
    return np.diff(whole, prepend=0)
