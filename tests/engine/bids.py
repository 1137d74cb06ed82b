"""A stream of bids, for tests that look at one thing at a time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from penstock.local.query import LocalQuery

NOON = datetime(2026, 1, 1, 12)
BIDS = "CREATE STREAM bids (item STRING, price INT, ts TIMESTAMP) TIMESTAMP BY ts"
BEST = "SELECT item, max(price) AS best FROM bids [RANGE 10 MINUTES] GROUP BY item"


def bid(price: int | None, minute: float = 0, item: str | None = "lamp") -> dict[str, Any]:
    """A bid, so many minutes after noon."""
    return {"item": item, "price": price, "ts": NOON + timedelta(minutes=minute)}


def prices(query: LocalQuery) -> list[int]:
    """The prices that wait to be fetched."""
    found: list[int] = query.results().get_column("price").to_list()
    return found
