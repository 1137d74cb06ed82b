"""Progress through what is computed of progressing columns, against the oracle.

Subqueries that compute the time of windows are among the random queries of all other laws; here
are the greatest and the least of both times of a join, and how early results come.
"""

from __future__ import annotations

from datetime import datetime

import pytest

from penstock.errors import CannotWindow
from penstock.local.engine import LocalEngine
from penstock.local.query import LocalQuery
from tests.engine.draw import Draw, check_seeds, many_seeds
from tests.engine.random_streams import UNITS, arrivals, declarations, pushed
from tests.engine.running import assert_right, feed, how, started
from tests.ticks import push_ticks

EXTREMES = ("greatest(x.ts, y.ts)", "least(x.ts, y.ts)", "least(y.ts, greatest(y.ts, x.ts))")


def extremes_of_a_join_progress(draw: Draw) -> None:
    declared = declarations(draw)
    unit = UNITS[declared[0].time]
    kind = draw.choose(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
    near = draw.between(0, 6)
    width = f"INTERVAL '{near}' MICROSECOND" if unit else str(near)
    text = (
        f"SELECT k, count(*) AS n, sum(v) AS s FROM (SELECT x.k AS k, y.v AS v, "
        f"{draw.choose(EXTREMES)} AS t FROM a AS x {kind} b AS y "
        f"ON x.k = y.k AND x.ts BETWEEN y.ts - {width} AND y.ts + {width}) "
        f"[RANGE {draw.between(1, 9)}{unit}, SLIDE {draw.between(1, 9)}{unit}, WA t] GROUP BY k"
    )
    events = arrivals(draw, declared)
    engine = started(declared, *how(draw))
    query = engine.sql(text)
    feed(engine, events)
    assert query.why()
    engine.finish()
    assert_right(query, pushed(declared, events), text)
    assert [rows for *_, rows, _ in engine.state() if rows] == []


@many_seeds(20, slow=150)
def test_extremes_of_a_join_progress(count: int) -> None:
    check_seeds(count, extremes_of_a_join_progress)


def joined(extreme: str, kind: str = "JOIN") -> tuple[LocalEngine, LocalQuery]:
    engine = LocalEngine()
    for name in "ab":
        engine.sql(f"CREATE STREAM {name} (ts BIGINT) TIMESTAMP BY ts PUNCTUATED")
    query = engine.sql(
        f"SELECT count(*) AS n FROM (SELECT {extreme}(a.ts, b.ts) AS t FROM a {kind} b "
        "ON a.ts BETWEEN b.ts - 100 AND b.ts + 100) [RANGE 10, WA t]"
    )
    push_ticks(engine, "a", [{"ts": 1}])
    push_ticks(engine, "b", [{"ts": 2}])
    return engine, query


def test_the_greater_time_of_a_pair_is_over_when_rows_of_both_sides_are() -> None:
    engine, query = joined("greatest")
    engine.punctuate("a", 10)
    engine.punctuate("b", 9)
    assert query.results().height == 0  # a row of b may still meet one of a
    assert "b" in str(query.why()) and " 10 " in str(query.why())
    engine.punctuate("b", 10)  # however far apart they may lie: one of a pair is new
    assert query.results()["n"].to_list() == [1]


def test_the_greatest_time_of_three_is_over_when_rows_of_all_are() -> None:
    for join in ("auto", "mjoin", "opob"):
        engine = LocalEngine()
        engine.sql(f"SET join = {join}")
        for name in "abc":
            engine.sql(f"CREATE STREAM {name} (ts BIGINT) TIMESTAMP BY ts PUNCTUATED")
        query = engine.sql(
            "SELECT count(*) AS n FROM (SELECT greatest(x, y, z) AS t FROM (SELECT a.ts AS x, "
            "b.ts AS y, c.ts AS z FROM a JOIN b ON TRUE WITHIN 100 JOIN c ON TRUE WITHIN 100) "
            "WHERE x < 50) [RANGE 10, WA t]"
        )
        for name in "abc":
            push_ticks(engine, name, [{"ts": 1}])
        for name in "abc":
            assert query.results().height == 0
            engine.punctuate(name, 10)
        assert query.results().height == (0 if join == "opob" else 1), join
        engine.finish()
        assert query.results()["n"].to_list() == [1]


def test_the_lesser_time_of_a_pair_is_over_when_both_sides_are() -> None:
    engine, query = joined("least")
    engine.punctuate("a", 200)
    assert query.results().height == 0
    engine.punctuate("b", 110)
    assert query.results()["n"].to_list() == [1]


def test_a_day_is_answered_when_it_is_over() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (v INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 1 HOUR")
    query = engine.sql("SELECT CAST(ts AS DATE) AS day, sum(v) AS s FROM s GROUP BY day")
    push_ticks(engine, "s", [{"v": 1, "ts": datetime(2026, 1, 1, 9)}])
    push_ticks(engine, "s", [{"v": 2, "ts": datetime(2026, 1, 2, 0, 59)}])
    assert query.results().height == 0
    assert "2026-01-02 01:00:00" in str(query.why())
    push_ticks(engine, "s", [{"v": 4, "ts": datetime(2026, 1, 2, 1)}])
    assert [(str(day), s) for day, s in query.results().rows()] == [("2026-01-01", 1)]


def test_a_column_of_seconds_since_1970_is_a_time() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (epoch BIGINT) TIMESTAMP BY epoch SLACK 5")
    query = engine.sql(
        "SELECT count(*) [RANGE 1 MINUTE] AS n FROM (SELECT timestamp_seconds(epoch) AS t FROM s)"
    )
    push_ticks(engine, "s", [{"epoch": 1_700_000_000}, {"epoch": 1_700_000_039}])
    assert query.results().height == 0
    push_ticks(
        engine, "s", [{"epoch": 1_700_000_045}, {"epoch": 1 << 60}]
    )  # no time has that number
    assert query.results().rows() == [
        (2, datetime(2023, 11, 14, 22, 13), datetime(2023, 11, 14, 22, 14)),
        (1, datetime(2023, 11, 14, 22, 14), datetime(2023, 11, 14, 22, 15)),
    ]
    engine.finish()
    assert query.results().height == 2


def test_what_may_fall_is_refused_with_what_can_be_used() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (v INT, ts TIMESTAMP) TIMESTAMP BY ts ORDERED")
    with pytest.raises(CannotWindow, match=r"does not progress.*`hour\(ts\)` may fall while `ts`"):
        engine.sql("SELECT count(*) [RANGE 5, WA h] FROM (SELECT hour(ts) AS h, ts FROM s)")


def test_a_window_without_an_attribute_is_on_the_time_of_the_stream() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (v INT, ts TIMESTAMP) TIMESTAMP BY ts ORDERED")
    text = "SELECT count(*) [RANGE 1 HOUR] AS n FROM (SELECT date_trunc('day', ts) AS d, ts FROM s)"
    assert "WA ts]" in engine.sql(text).explain()
