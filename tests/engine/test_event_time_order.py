"""`first`, `last` and lists take rows by event time, however coarse the time of windows is."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from penstock import LocalEngine
from penstock.model.timestamps import SECOND
from penstock.oracle.evaluate import evaluate, same_rows
from tests.engine.baselines import BaselineEngine
from tests.engine.random_streams import numbered
from tests.engine.running import AGGREGATIONS, rows_of
from tests.ticks import push_ticks

STREAMS = (
    "CREATE STREAM s (k STRING, price INT, tags ARRAY<INT>, ts TIMESTAMP) TIMESTAMP BY ts SLACK 1 "
    "MINUTE; CREATE STREAM r (k STRING, price INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 1 MINUTE;"
)
ASKED = "first(price) AS f, last(price) AS l"
MINUTE = "SELECT k, price, date_trunc('minute', ts) AS m FROM s"
#: All rows lie in one minute; the first by event time comes last.
ROWS: list[dict[str, Any]] = [
    {"k": "a", "price": price, "tags": [0], "ts": second * SECOND}
    for second, price in ((8, 1), (20, 9), (40, 3), (2, 5))
]
WAYS = (
    f"SELECT date_trunc('minute', ts) AS m, {ASKED} FROM s GROUP BY m",
    f"SELECT {ASKED} FROM s GROUP BY CAST(ts AS DATE)",
    f"SELECT unix_micros(ts) div 60000000 AS n, {ASKED} FROM s GROUP BY n",
    f"SELECT m, {ASKED} FROM ({MINUTE}) GROUP BY m",
    f"SELECT {ASKED} FROM ({MINUTE}) [RANGE 2 MINUTES, SLIDE 1 MINUTE, WA m]",
    f"SELECT {ASKED} FROM (SELECT * FROM ({MINUTE}) WHERE price > 0) [RANGE TUMBLING 1 HOUR]",
    f"SELECT {ASKED} FROM (SELECT price, date_trunc('hour', m) AS h FROM ({MINUTE})) "
    "[RANGE ALL, SLIDE 1 HOUR]",
    f"SELECT {ASKED} FROM (SELECT e, price, date_trunc('minute', ts) AS m FROM s "
    "LATERAL VIEW explode(tags) x AS e) GROUP BY m",
    f"SELECT {ASKED} FROM ({MINUTE} UNION ALL SELECT k, price, ts FROM r) [RANGE 1 HOUR]",
    "SELECT a.m, first(a.price) AS f, last(a.price) AS l "
    f"FROM ({MINUTE}) AS a JOIN r AS b ON a.k = b.k WITHIN 1 HOUR GROUP BY a.m",
    "SELECT date_trunc('hour', greatest(s.ts, r.ts)) AS h, first(s.price) AS f, "
    "last(s.price) AS l FROM s JOIN r ON s.k = r.k WITHIN 1 MINUTE GROUP BY h",
)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_first_and_last_go_by_event_time_under_a_coarser_time(aggregation: str) -> None:
    engine = BaselineEngine()
    engine.choose(aggregation)
    engine.sql(STREAMS)
    engine.sql("; ".join(f"CREATE QUERY q{n} AS {way}" for n, way in enumerate(WAYS)))
    partner = [{"k": "a", "price": 4, "ts": SECOND}]
    for row in ROWS:
        push_ticks(engine, "s", [row])
    push_ticks(engine, "r", partner)
    engine.finish()
    for number, way in enumerate(WAYS):
        query = engine.query(f"q{number}")
        rows = query.results()
        # The union has a row of the other stream, the first of all.
        first = 4 if "UNION" in way else 5
        assert rows.height > 0 and set(rows.select("f", "l").rows()) == {(first, 3)}, way
        inputs = {"s": numbered(ROWS), "r": numbered(partner)}
        assert same_rows(rows_of(rows), evaluate(query.plan, inputs)), way


def test_lists_and_aggregates_of_users_go_by_event_time_under_a_coarser_time() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    engine.sql(
        "CREATE AGGREGATE newest(next INT) RETURNS INT { TABLE state (v INT); "
        "INITIALIZE: INSERT INTO state VALUES (next); ITERATE: UPDATE state SET v = next; "
        "TERMINATE: INSERT INTO RETURN SELECT v FROM state; }"
    )
    query = engine.sql(
        "SELECT date_trunc('minute', ts) AS m, collect_list(price) AS list, newest(price) AS n, "
        "min_by(price, m) AS least FROM (SELECT *, date_trunc('minute', ts) AS m FROM s) GROUP BY 1"
    )
    start = datetime(2024, 5, 1)
    rows = [{**row, "ts": start + timedelta(microseconds=row["ts"])} for row in ROWS]
    push_ticks(engine, "s", rows)
    engine.finish()
    assert query.results().rows() == [(start, "[5,1,9,3]", 3, 1)]


def test_merged_unions_of_times_of_different_grain_go_by_event_time() -> None:
    """Merge needs one column by which all inputs are in order: that is the event time."""
    engine = LocalEngine()
    engine.sql("SET union = merge; " + STREAMS.replace("SLACK 1 MINUTE", "ORDERED"))
    query = engine.sql(
        f"SELECT {ASKED} FROM ({MINUTE} UNION ALL SELECT k, price, ts FROM r) [RANGE 1 HOUR, WA m]"
    )
    push_ticks(engine, "s", sorted(ROWS, key=lambda row: int(row["ts"])))
    push_ticks(engine, "r", [{"k": "a", "price": 7, "ts": 30 * SECOND}])
    engine.finish()
    assert query.results().select("f", "l").rows() == [(5, 3)]
