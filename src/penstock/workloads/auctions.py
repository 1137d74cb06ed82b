"""Auctions of the auction house: three events in 50.

id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT,
dateTime TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from penstock.model.timestamps import SECOND
from penstock.workloads.auction_house import (
    ACTIVE_PERSONS,
    FIRST_ID,
    OPEN_AUCTIONS,
    ROUND,
    AuctionHouse,
)
from penstock.workloads.draws import Integers
from penstock.workloads.workload import Values

FIRST_CATEGORY, CATEGORIES = 10, 5

_CONDITIONS = pl.Series(["new", "as new", "used", "well used", "for parts"])


@dataclass(frozen=True, kw_only=True)
class Auctions(AuctionHouse):
    """What is for sale, from when until when."""

    name: ClassVar[str] = "auctions"
    declaration: ClassVar[str] = (
        "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, "
        "dateTime TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT"
    )
    offset: ClassVar[int] = 1
    per_round: ClassVar[int] = 3

    def values(self, first: int, times: Integers) -> Mapping[str, Values]:
        count = len(times)
        ids = FIRST_ID + np.arange(first, first + count, dtype=np.int64)
        initial = self.amounts("initialBid", first, count)
        condition = self.draws.below(len(_CONDITIONS), "description", first, count)
        newest_person = self.rounds(first, count)
        return {
            "id": ids,
            "itemName": "item " + pl.Series(ids).cast(pl.String),
            "description": _CONDITIONS.gather(condition),
            "initialBid": initial,
            "reserve": initial + self.amounts("reserve", first, count),
            "expires": times + 1 + self.draws.below(self._longest, "expires", first, count),
            "seller": self.mention("seller", first, newest_person, ACTIVE_PERSONS, hot=3 / 4),
            "category": FIRST_CATEGORY + self.draws.below(CATEGORIES, "category", first, count),
        }

    @property
    def _longest(self) -> int:
        """The longest auction: on average one is open while those that get bids are opened."""
        events = OPEN_AUCTIONS * ROUND / self.per_round
        return round(2 * events * SECOND / self.arrivals.rate)
