"""RFID readings: things with tags pass one reader after the other.

    reader STRING, tag STRING, ts TIMESTAMP

At any moment `tags` things are on their way. Each passes the readers in their order, is seen by
each `repeats` times on average (sometimes not at all, as with real antennas), leaves after the last
one, and a new thing takes its place. The order of a tag's readings is that of the readers, as far
as disorder leaves it; sequence queries ("packed, then loaded, within …") find what they look for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from penstock.workloads.draws import Integers
from penstock.workloads.options import WorkloadOptions, check_range
from penstock.workloads.workload import Values, Workload


@dataclass(frozen=True, kw_only=True)
class Rfid(Workload):
    """The readings of one site."""

    tags: int = 100
    readers: int = 4
    repeats: int = 3

    name: ClassVar[str] = "rfid"
    declaration: ClassVar[str] = "reader STRING, tag STRING, ts TIMESTAMP"

    def __post_init__(self) -> None:
        check_range("tags", self.tags, 1, 1_000_000)
        check_range("readers", self.readers, 1, 10_000)
        check_range("repeats", self.repeats, 1, 10_000)

    @classmethod
    def from_options(cls, options: WorkloadOptions, seed: int) -> Workload:
        return cls.with_own(
            options,
            seed,
            tags=options.whole("tags", cls.tags),
            readers=options.whole("readers", cls.readers),
            repeats=options.whole("repeats", cls.repeats),
        )

    def values(self, first: int, times: Integers) -> Mapping[str, Values]:
        count = len(times)
        place = self.draws.below(self.tags, "place", first, count)
        # A trip lasts so many rows of the whole stream; places are out of step with one another,
        # so that all readers are busy at all times.
        readings = self.readers * self.repeats
        trip_length = self.tags * readings
        row = np.arange(first, first + count, dtype=np.int64)
        trip, gone = np.divmod(row + place * readings, trip_length)
        reader = gone // (self.tags * self.repeats)
        return {
            "reader": "reader-" + pl.Series(reader).cast(pl.String),
            "tag": "tag-" + pl.Series(trip * self.tags + place).cast(pl.String),
        }
