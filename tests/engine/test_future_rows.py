"""A row with a far-off time closes nothing, whatever the windows."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from penstock import LocalEngine
from penstock.errors import CannotWindow, TooManyWindows
from penstock.kernel.rejected import Reason

STREAM = "CREATE STREAM s (x INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 1 SECOND"
COUNT = "SELECT count(*) AS n FROM s [RANGE 10 SECONDS]"
FAR = datetime(9000, 1, 1)
YEAR = timedelta(days=365)


def engine_with(*statements: str) -> LocalEngine:
    engine = LocalEngine()
    for statement in statements:
        engine.sql(statement)
    return engine


def push(engine: LocalEngine, *times: datetime) -> None:
    engine.push("s", [{"x": number, "ts": time} for number, time in enumerate(times)])


def test_a_row_far_ahead_of_the_clock_is_rejected_counted_and_named() -> None:
    engine = engine_with(STREAM)
    query = engine.sql(COUNT)
    now = datetime.now()
    push(engine, now, FAR, now + timedelta(seconds=30))
    engine.finish()
    assert query.results()["n"].sum() == 2
    counts = engine.counts("s")
    assert (counts.rows, counts.ahead, counts.late) == (2, 1, 0)
    assert counts.reasons == {"ts: 9000-01-01 00:00:00 is more than max_jump ahead of the clock": 1}
    [rejected] = engine.rejected_rows
    assert (rejected.reason, rejected.rows["x"].to_list()) == (Reason.AHEAD, [1])


def test_a_row_may_be_far_ahead_of_the_clock_behind_others_that_are() -> None:
    engine = engine_with(STREAM)
    query = engine.sql(COUNT)
    now = datetime.now()
    push(engine, now, now + 9 * YEAR, now + 18 * YEAR, now + 40 * YEAR)
    engine.finish()
    assert query.results()["n"].sum() == 3
    assert engine.counts("s").ahead == 1


@pytest.mark.parametrize(
    ("statements", "ahead"),
    [
        (("SET max_jump = unlimited", STREAM), 0),
        ((STREAM, "SET max_jump = unlimited"), 0),
        (("SET max_jump = 3000000 DAYS", STREAM), 0),
        (("SET max_jump = 10 DAYS", STREAM), 1),
        (("SET max_jump = 10 DAYS", f"{STREAM} MAX AHEAD 3000000 DAYS"), 0),
    ],
)
def test_how_far_ahead_a_row_may_be_can_be_set(statements: tuple[str, ...], ahead: int) -> None:
    engine = engine_with(*statements)
    engine.sql(COUNT)
    push(engine, FAR)
    engine.finish()
    assert engine.counts("s").ahead == ahead


def test_integers_have_no_clock() -> None:
    engine = engine_with("CREATE STREAM s (x INT, ts BIGINT) TIMESTAMP BY ts")
    engine.sql("SELECT count(*) AS n FROM s [RANGE 10]")
    engine.push("s", [{"x": 1, "ts": 1}, {"x": 2, "ts": 10**18}])
    assert engine.counts("s").ahead == 0


@pytest.mark.parametrize("emit", ["", " EMIT CHANGES"])
def test_slides_without_rows_cost_a_landmark_window_nothing(emit: str) -> None:
    engine = engine_with(STREAM, "SET max_jump = unlimited")
    query = engine.sql(f"SELECT count(*) AS n FROM s [RANGE ALL, SLIDE 1 SECOND]{emit}")
    push(engine, datetime(2026, 1, 1))
    push(engine, FAR)
    engine.finish()
    found = query.results()
    if emit:
        found = found.filter("is_final")
    assert [n for n, *_ in found.rows()] == [1, 2]


@pytest.mark.parametrize(
    ("window", "arithmetic"),
    [
        (
            "s [RANGE 1000000 DAYS, SLIDE 1 SECOND]",
            "RANGE / SLIDE = 1000000 days / 1 second = 86,400,000,000 windows",
        ),
        (
            "CUMULATE(TABLE s, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '1000' DAYS)"
            " GROUP BY window_start, window_end",
            "size / step = 1000 days / 1 second = 86,400,000 windows",
        ),
    ],
)
def test_a_window_with_too_many_open_ones_is_refused(window: str, arithmetic: str) -> None:
    engine = engine_with(STREAM)
    with pytest.raises(CannotWindow, match=arithmetic):
        engine.sql(f"SELECT count(*) AS n FROM {window}")
    engine.sql("SELECT count(*) AS n FROM s [RANGE 10000000 SECONDS, SLIDE 1 SECOND]")


@pytest.mark.parametrize("aggregation", ["wid", "paned"])
def test_rows_that_open_too_many_windows_are_an_error(aggregation: str) -> None:
    engine = engine_with(
        f"SET aggregation = {aggregation}",
        "CREATE STREAM s (x INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 1000 DAYS",
    )
    engine.sql("SELECT count(*) AS n FROM s [RANGE 5000000 SECONDS, SLIDE 1 SECOND]")
    begin = datetime(2026, 1, 1)
    push(engine, begin, begin + timedelta(seconds=1), begin + timedelta(days=50))
    with pytest.raises(TooManyWindows, match=r"rows lie in 1[0-9],[0-9]{3},[0-9]{3} windows"):
        push(engine, begin + timedelta(days=200))


def test_a_landmark_window_may_be_open_over_any_time() -> None:
    engine = engine_with("CREATE STREAM s (x INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 9000 DAYS")
    query = engine.sql("SELECT count(*) AS n FROM s [RANGE ALL, SLIDE 1 SECOND]")
    push(engine, datetime(2026, 1, 1), datetime(2030, 1, 1))
    engine.finish()
    assert [n for n, *_ in query.results().rows()] == [1, 2]
