"""Bids of the auction house: 46 events in 50.

auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from penstock.workloads.auction_house import ACTIVE_PERSONS, OPEN_AUCTIONS, AuctionHouse
from penstock.workloads.auctions import Auctions
from penstock.workloads.draws import Integers
from penstock.workloads.workload import Values

#: The first four carry half of the bids, the others the rest.
_CHANNELS = pl.Series(
    ["Google", "Facebook", "Baidu", "Apple", *(f"channel-{n}" for n in range(1000))]
)
_BIG_CHANNELS = 4


@dataclass(frozen=True, kw_only=True)
class Bids(AuctionHouse):
    """Who offers how much for what."""

    name: ClassVar[str] = "bids"
    declaration: ClassVar[str] = (
        "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, "
        "dateTime TIMESTAMP"
    )
    offset: ClassVar[int] = 4
    per_round: ClassVar[int] = 46

    def values(self, first: int, times: Integers) -> Mapping[str, Values]:
        count = len(times)
        newest_person = self.rounds(first, count)
        newest_auction = (newest_person + 1) * Auctions.per_round - 1
        auction = self.mention("auction", first, newest_auction, OPEN_AUCTIONS, hot=1 / 2)
        return {
            "auction": auction,
            "bidder": self.mention("bidder", first, newest_person, ACTIVE_PERSONS, hot=3 / 4),
            "price": self.amounts("price", first, count),
            "channel": self._channels(first, count),
            "url": "https://auctions.example.com/item/" + pl.Series(auction).cast(pl.String),
        }

    def _channels(self, first: int, count: int) -> pl.Series:
        big = self.draws.below(2 * _BIG_CHANNELS, "big channel", first, count)
        small = self.draws.below(len(_CHANNELS) - _BIG_CHANNELS, "small channel", first, count)
        return _CHANNELS.gather(np.where(big < _BIG_CHANNELS, big, small + _BIG_CHANNELS))
