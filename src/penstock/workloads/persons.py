"""Persons of the auction house: one event in 50.

id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING,
dateTime TIMESTAMP
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from penstock.workloads.auction_house import FIRST_ID, AuctionHouse
from penstock.workloads.draws import Integers
from penstock.workloads.workload import Values

_FIRST_NAMES = pl.Series(
    ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"]
)
_LAST_NAMES = pl.Series(
    ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"]
)
_CITIES = pl.Series(
    ["Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle"]
)
_STATES = pl.Series(["AZ", "CA", "CA", "ID", "OR", "OR", "WA", "WA"])  # of these cities


@dataclass(frozen=True, kw_only=True)
class Persons(AuctionHouse):
    """Those who sell and bid."""

    name: ClassVar[str] = "persons"
    declaration: ClassVar[str] = (
        "id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, "
        "state STRING, dateTime TIMESTAMP"
    )
    offset: ClassVar[int] = 0
    per_round: ClassVar[int] = 1

    def values(self, first: int, times: Integers) -> Mapping[str, Values]:
        count = len(times)
        ids = FIRST_ID + np.arange(first, first + count, dtype=np.int64)
        first_name = _FIRST_NAMES.gather(self._one_of(_FIRST_NAMES, "first name", first, count))
        last_name = _LAST_NAMES.gather(self._one_of(_LAST_NAMES, "last name", first, count))
        city = self._one_of(_CITIES, "city", first, count)
        number = pl.Series(ids).cast(pl.String)
        return {
            "id": ids,
            "name": first_name + " " + last_name,
            "emailAddress": last_name.str.to_lowercase() + number + "@example.com",
            "creditCard": self._cards(first, count),
            "city": _CITIES.gather(city),
            "state": _STATES.gather(city),
        }

    def _one_of(self, names: pl.Series, sequence: str, first: int, count: int) -> Integers:
        return self.draws.below(len(names), sequence, first, count)

    def _cards(self, first: int, count: int) -> pl.Series:
        """Four times four digits."""
        digits = [self.draws.below(10_000, f"card {n}", first, count) for n in range(4)]
        parts = [pl.lit(pl.Series(part)).cast(pl.String).str.zfill(4) for part in digits]
        return pl.select(pl.concat_str(parts, separator=" ")).to_series()
