"""Which input holds a query back, and what would release it."""

from __future__ import annotations

import pytest

from penstock import LocalEngine
from penstock.errors import UnknownName
from penstock.model.timestamps import MINUTE, SECOND
from penstock.plan.blockers import Blockers
from penstock.runtime.clock import VirtualClock
from tests.ticks import push_ticks

STREAMS = """
CREATE STREAM busy (x INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 5 SECONDS;
CREATE STREAM quiet (x INT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM skewed (x INT, ts TIMESTAMP) TIMESTAMP BY ts SKEW 2 SECONDS;
CREATE STREAM told (x INT, ts TIMESTAMP) TIMESTAMP BY ts PUNCTUATED;
CREATE STREAM stamped (x INT) TIMESTAMP INTERNAL AS ts;
"""


def engine_with(query: str) -> LocalEngine:
    engine = LocalEngine(clock=VirtualClock(1000 * SECOND))
    engine.sql(STREAMS + query)
    return engine


def held(why: Blockers) -> dict[str, str]:
    return {fact.stream: fact.release for fact in why.inputs if fact.holds}


def test_the_input_with_the_least_bound_holds_a_window_back() -> None:
    engine = engine_with(
        "CREATE QUERY q AS SELECT count(*) AS n FROM (busy UNION quiet) [RANGE 1 MINUTE]"
    )
    push_ticks(engine, "busy", [{"x": 1, "ts": 970 * SECOND}])
    push_ticks(engine, "quiet", [{"x": 1, "ts": 905 * SECOND}])
    engine._host.clock.spend(90 * SECOND)
    why = engine.query("q").why()
    assert why.summary == "held back by `quiet`"
    [release] = held(why).values()
    assert release.startswith(
        "a row of 1970-01-01 00:16:00 or later, punctuation of 1970-01-01 00:16"
    )
    quiet = next(fact for fact in why.inputs if fact.stream == "quiet")
    assert (quiet.bound, quiet.behind, quiet.silent) == ("1970-01-01 00:15:05", "60 s", "90 s ago")
    # What it says would release it, does.
    before = engine.query("q").rows
    push_ticks(engine, "quiet", [{"x": 1, "ts": 16 * MINUTE}])
    assert engine.query("q").rows > before


def test_the_table_is_readable() -> None:
    engine = engine_with(
        "CREATE QUERY q AS SELECT count(*) AS n FROM (busy UNION told) [RANGE 1 MINUTE]"
    )
    push_ticks(engine, "busy", [{"x": 1, "ts": 970 * SECOND}, {"x": 1, "ts": 1030 * SECOND}])
    assert str(engine.sql("EXPLAIN LIVE q")).splitlines()[:4] == [
        "q: held back by `told`",
        "  input  bound                behind      last row  waited for  needed               "
        "released by",
        "  busy   1970-01-01 00:17:05  -           0 ms ago  no",
        "  told   nothing yet          infinitely  never     yes         1970-01-01 00:17:00  "
        "punctuation of 1970-01-01 00:17:00 or later, or its end",
    ]


def test_slack_is_part_of_what_a_row_must_bring() -> None:
    engine = engine_with("CREATE QUERY q AS SELECT count(*) AS n FROM busy [RANGE 1 MINUTE]")
    push_ticks(engine, "busy", [{"x": 1, "ts": 905 * SECOND}])
    [release] = held(engine.query("q").why()).values()
    assert "a row of 1970-01-01 00:16:05 or later" in release
    push_ticks(engine, "busy", [{"x": 1, "ts": 16 * MINUTE + 4 * SECOND}])
    assert engine.query("q").rows == 0
    push_ticks(engine, "busy", [{"x": 1, "ts": 16 * MINUTE + 5 * SECOND}])
    assert engine.query("q").rows == 1


@pytest.mark.parametrize(
    ("stream", "release"),
    [
        ("skewed", "or the clock, 2 seconds later"),
        ("stamped", "the clock at 1970-01-01 00:17:00, by an enabling timestamp"),
        ("told", "punctuation of 1970-01-01 00:17:00 or later, or its end"),
    ],
)
def test_what_releases_a_stream_follows_from_its_declaration(stream: str, release: str) -> None:
    engine = engine_with(f"CREATE QUERY q AS SELECT count(*) AS n FROM {stream} [RANGE 1 MINUTE]")
    assert engine.query("q").why().summary == "nothing waits"
    push_ticks(engine, stream, [{"x": 1} if stream == "stamped" else {"x": 1, "ts": 1000 * SECOND}])
    [said] = held(engine.query("q").why()).values()
    assert release in said


def test_without_asking_a_stamped_stream_needs_a_row() -> None:
    engine = engine_with(
        "SET ets = none; CREATE QUERY q AS SELECT count(*) AS n FROM stamped [RANGE 1 MINUTE]"
    )
    push_ticks(engine, "stamped", [{"x": 1}])
    [said] = held(engine.query("q").why()).values()
    assert said == "the clock at 1970-01-01 00:17:00, with a row, or SET ets = on demand"


def test_a_selection_waits_for_nobody_and_neither_does_what_is_over() -> None:
    engine = engine_with(
        "CREATE QUERY q AS SELECT x FROM busy WHERE x > 1;"
        "CREATE QUERY r AS SELECT count(*) AS n FROM busy [RANGE 1 MINUTE]"
    )
    assert engine.query("q").why().summary == "waits for nothing: every row passes immediately"
    engine.finish()
    assert engine.query("r").why().summary == "waits for nothing: all inputs have ended"


def test_the_facts_are_in_the_progress_of_a_query() -> None:
    engine = engine_with("CREATE QUERY q AS SELECT count(*) AS n FROM busy [RANGE 1 MINUTE]")
    progress = engine.query("q").lastProgress
    assert progress["penstock"]["blockers"]["inputs"][0]["stream"] == "busy"


def test_a_query_is_judged_by_the_settings_that_it_runs_by() -> None:
    engine = engine_with("SET union = merge; CREATE QUERY q AS SELECT * FROM quiet UNION skewed")
    push_ticks(engine, "quiet", [{"x": 1, "ts": 970 * SECOND}])
    push_ticks(engine, "quiet", [{"x": 1, "ts": 2000 * SECOND}])
    engine.sql("SET union = meld")
    assert engine.query("q").why().summary == "held back by `skewed`"
    assert str(engine.sql("EXPLAIN LIVE q")).startswith("q: held back by `skewed`")


def test_a_query_that_was_dropped_can_still_be_asked() -> None:
    engine = engine_with("CREATE QUERY q AS SELECT count(*) AS n FROM busy [RANGE 1 MINUTE]")
    query = engine.query("q")
    query.stop()
    assert query.why() == query.status.blockers
    assert query.why().summary == "waits for nothing: it has been dropped"


def test_only_a_running_query_can_be_asked() -> None:
    engine = engine_with("")
    with pytest.raises(UnknownName, match="no query `busy`") as raised:
        engine.sql("EXPLAIN LIVE busy")
    assert raised.value.position is not None


def test_a_query_may_be_called_live() -> None:
    engine = engine_with("CREATE QUERY live AS SELECT x FROM busy")
    assert str(engine.sql("EXPLAIN live")).startswith("Project")
    assert str(engine.sql("EXPLAIN LIVE live")).startswith("live: waits for nothing")


def test_a_join_names_the_row_that_lets_a_row_without_a_partner_out() -> None:
    engine = LocalEngine()
    engine.sql("""
    CREATE STREAM l (k INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 1 SECOND;
    CREATE STREAM r (k INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 1 SECOND;
    CREATE QUERY q AS SELECT l.k, l.ts AS lt, r.ts AS rt FROM l LEFT JOIN r ON l.k = r.k
      WITHIN 3 SECONDS;
    CREATE QUERY pairs AS SELECT l.k FROM l JOIN r ON l.k = r.k WITHIN 3 SECONDS
    """)
    push_ticks(engine, "l", [{"k": 1, "ts": 5 * SECOND}])
    why = engine.query("q").why()
    assert why.summary == "held back by `r`"  # which has said nothing
    assert "a row of 1970-01-01 00:00:09.000001 or later" in held(why)["r"]
    # Both have come as far: it is only a matter of time.
    push_ticks(engine, "r", [{"k": 2, "ts": 5 * SECOND}])
    assert engine.query("q").why().summary == "the next result waits for `r`"
    assert engine.query("pairs").why().summary == "nothing waits"
    push_ticks(engine, "r", [{"k": 2, "ts": 9 * SECOND}])
    assert engine.query("q").rows == 0
    push_ticks(engine, "r", [{"k": 2, "ts": 9 * SECOND + 1}])
    assert engine.query("q").rows == 1
    assert engine.query("q").why().summary == "nothing waits"


def test_a_window_of_rows_names_how_many_more_it_needs() -> None:
    engine = engine_with(
        "CREATE QUERY q AS SELECT count(*) AS n FROM busy [RANGE 3 ROWS, WA row_num]"
    )
    push_ticks(engine, "busy", [{"x": 1, "ts": 970 * SECOND}])
    assert held(engine.query("q").why()) == {"busy": "2 more rows, or its end"}
    push_ticks(engine, "busy", [{"x": 1, "ts": 970 * SECOND}])
    assert engine.query("q").rows == 0
    push_ticks(engine, "busy", [{"x": 1, "ts": 970 * SECOND}])
    assert engine.query("q").rows == 1


def test_what_a_condition_may_drop_is_said_to_need_that_much_at_the_least() -> None:
    engine = engine_with(
        "CREATE QUERY q AS SELECT count(*) AS n FROM busy [RANGE 1 MINUTE] HAVING count(*) > 1"
    )
    push_ticks(engine, "busy", [{"x": 1, "ts": 970 * SECOND}])
    assert engine.query("q").why().summary == "the next result waits for `busy`, at the least"
