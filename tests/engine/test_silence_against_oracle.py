"""Lulls, skew, silent streams and punctuation in the data, judged by the oracle.

However enabling timestamps are made and carried, in order or out of order: every answer is the
oracle's, nothing that is out is contradicted later, and where streams are asked for the time,
everything whose time has come is out, though one of the streams has never spoken.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from penstock import LocalEngine
from penstock.model.timestamps import SECOND
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.runtime.clock import VirtualClock
from tests.engine.draw import seeds
from tests.engine.running import rows_of
from tests.ticks import push_ticks

SKEW = 3 * SECOND
LAG = SKEW // 2  # how far behind the clock rows really come
START = 1000 * SECOND

STREAMS = """
CREATE STREAM busy (k INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 3 SECONDS SKEW 3 SECONDS;
CREATE STREAM lulled (k INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 3 SECONDS
  LULL 3 SECONDS HEARTBEAT 1 SECOND;
CREATE STREAM silent (k INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 3 SECONDS SKEW 3 SECONDS;
CREATE STREAM marked (k INT, ts TIMESTAMP, over BOOLEAN) TIMESTAMP BY ts PUNCTUATED BY over;
CREATE STREAM stamped (k INT) TIMESTAMP INTERNAL AS ts;
"""

#: What is asked, over which streams, and whether all of them can tell the time while silent.
QUERIES = {
    "one": (
        "SELECT k, count(*) AS n FROM busy [RANGE 10 SECONDS SLIDE 4 SECONDS] GROUP BY k",
        True,
    ),
    "union": (
        "SELECT k, count(*) AS n FROM (busy UNION lulled UNION silent UNION stamped) "
        "[RANGE 5 SECONDS] GROUP BY k",
        True,
    ),
    "filtered": (
        "SELECT count(*) AS n FROM (SELECT * FROM busy WHERE k > 5 UNION ALL SELECT * FROM lulled) "
        "[RANGE 6 SECONDS]",
        True,
    ),
    # When a match is decided at the latest.
    "matches": (
        "SELECT k, n, window_end FROM busy UNION silent MATCH_RECOGNIZE (PARTITION BY k "
        "ORDER BY ts MEASURES count(*) AS n, FIRST(ts) + INTERVAL 4 SECONDS AS window_end "
        "PATTERN (A B+) WITHIN 4 SECONDS)",
        True,
    ),
    "in the data": (
        "SELECT k, count(*) AS n FROM (SELECT k, ts FROM marked UNION ALL SELECT k, ts FROM busy) "
        "[RANGE 5 SECONDS] GROUP BY k",
        False,
    ),
    "join": (
        "SELECT busy.k AS k, busy.ts AS t, stamped.ts AS u FROM busy [RANGE 4 SECONDS, WA ts], "
        "stamped [RANGE 2 SECONDS, WA ts] WHERE busy.k = stamped.k",
        False,
    ),
    "latest before": (
        "SELECT l.k AS k, l.ts AS t, busy.ts AS window_end "
        "FROM SEQ(lulled AS l, busy) MODE RECENT PARTITION BY k",
        True,
    ),
    "in turn": (
        "SELECT l.k AS k, l.ts AS t, busy.ts AS window_end "
        "FROM SEQ((lulled UNION silent UNION stamped) AS l, busy) MODE CHRONICLE PARTITION BY k",
        True,
    ),
}

WAYS = (
    ("ets = on demand",),
    ("ets = on demand", "ets_by = arcs", "rows_per_step = 1"),
    ("ets = on demand", "ets_by = arcs", "mode = iop", "strategy = bfs"),
    ("ets = periodic 700 milliseconds",),
    ("ets = none", "mode = iop", "rows_per_step = 1"),
    ("ets = none",),
)


class Live:
    """An engine whose streams speak by the clock, and everything they said."""

    def __init__(self, query: str, settings: Sequence[str], seed: int) -> None:
        self.clock = VirtualClock(START)
        self.engine = LocalEngine(clock=self.clock)
        self.engine.sql(";".join(f"SET {setting}" for setting in settings) + ";" + STREAMS)
        self.query = self.engine.sql(f"CREATE QUERY q AS {query}")
        names = ("busy", "lulled", "silent", "marked", "stamped")
        self.said: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        self._draw = random.Random(seed)
        self._bound = 0

    def go_on(self) -> None:
        draw, now = self._draw, self.clock.now()
        name = draw.choice(("busy", "busy", "busy", "marked", "stamped", "lulled"))
        if name == "lulled" and now // (15 * SECOND) % 2:  # it has its lulls
            name = "busy"
        if name == "marked" and draw.random() < 0.4:
            self._bound = max(self._bound, now - draw.randint(0, 2) * SECOND)
            mark = {"k": None, "ts": self._bound, "over": True}
            push_ticks(self.engine, "marked", [mark])
        else:
            self._speak(name)
        self.clock.spend(draw.choice((0, SECOND // 2, SECOND, 2 * SECOND)))
        self.engine.advance()

    def _speak(self, name: str) -> None:
        now = self.clock.now()
        at = now if name == "stamped" else now - self._draw.randint(0, LAG)
        # A row keeps above the bound that the stream's marked rows have given.
        if name == "marked":
            at = max(at, self._bound)
        row = {"k": self._draw.randint(0, 2), "ts": at}
        extra = {"over": False} if name == "marked" else {}
        given = {"k": row["k"]} if name == "stamped" else {**row, **extra}
        before = self.engine.counts(name).rows
        push_ticks(self.engine, name, [given])
        assert self.engine.counts(name).rows == before + 1, "no row that keeps its skew is late"
        self.said[name].append({**row, **extra})

    def expected(self) -> list[dict[str, Any]]:
        return evaluate(self.query.plan, self.said)


@pytest.mark.parametrize("settings", WAYS, ids=lambda settings: ", ".join(settings))
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("seed", seeds(1, slow=2))
def test_every_answer_is_the_oracles_and_comes_in_time(
    query: str, settings: Sequence[str], seed: int
) -> None:
    text, tells_the_time = QUERIES[query]
    live = Live(text, settings, seed)
    for _ in range(40):
        live.go_on()
    out = rows_of(live.query.to_polars())
    if tells_the_time and settings[0] == "ets = on demand":
        # The newest row may itself have lagged, by LAG; and a lull is looked for every second.
        due = live.clock.now() - SKEW - LAG - SECOND
        for answer in live.expected():
            assert answer["window_end"] > due or answer in out
    live.engine.finish()
    everything = rows_of(live.query.to_polars())
    assert everything[: len(out)] == out
    assert same_rows(everything, live.expected())
