"""Rows pushed one by one into LocalEngine: with its lock against without it.

One thread pushes 20,000 rows, one per call, so what a call costs besides its row weighs most. The
rival is the same engine with a lock that does nothing, which is right for one thread only.

    case      query
    filter    rows that pass a condition
    windows   counts and sums per key in windows of a minute
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from time import perf_counter

from penstock.lab.benchmarking import Case, Timed
from penstock.local.engine import LocalEngine
from penstock.runtime.engine_lock import EngineLock

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

START = datetime(2026, 1, 1)
STREAM = """
CREATE STREAM bids (item BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 1 SECOND;
"""
QUERIES = {
    "filter": "SELECT item, price, ts FROM bids WHERE price > 50",
    "windows": "SELECT item, count(*) AS n, sum(price) AS total FROM bids [RANGE 1 MINUTE] "
    "GROUP BY item",
}


class NoLock(EngineLock):
    """Lets everybody in."""

    def acquire(self, blocking: bool = True) -> bool:
        return True

    def release(self) -> None:
        pass

    @contextmanager
    def running(self) -> Iterator[None]:
        yield

    @contextmanager
    def outside(self, *, in_step: bool) -> Iterator[None]:
        yield


class UnlockedEngine(LocalEngine):
    def __init__(self) -> None:
        super().__init__()
        self._turn = NoLock()


def cases(quick: bool) -> Iterator[Case]:
    count = 4_000 if quick else 20_000
    rows = [
        {"item": n % 7, "price": n % 101, "ts": START + timedelta(milliseconds=50 * n)}
        for n in range(count)
    ]
    for name, query in QUERIES.items():
        yield Case(
            name,
            ours=partial(push, LocalEngine, query, rows),
            rival=partial(push, UnlockedEngine, query, rows),
            rival_name="without the lock",
            ours_io="Python dicts, one per call → collected into memory",
            rival_io="the same",
            repeats=9,
            extra={"rows": count},
        )


def push(kind: type[LocalEngine], query: str, rows: list[dict[str, object]]) -> Timed:
    engine = kind()
    engine.sql(STREAM)
    handle = engine.sql(query)
    began = perf_counter()
    for row in rows:
        engine.push("bids", [row])
    seconds = perf_counter() - began
    engine.finish()
    return Timed(handle.results(), seconds)
