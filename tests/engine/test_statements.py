"""Statements: what they declare, change and drop, and how a wrong one is refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from penstock.errors import (
    BadSetting,
    CannotWindow,
    CyclicView,
    DuplicateName,
    QueryError,
    UnknownName,
)
from penstock.local.engine import LocalEngine
from penstock.local.query import LocalQuery
from penstock.model.timestamps import MINUTE, to_ticks
from tests.engine.bids import BEST, BIDS, NOON, bid, prices


def test_sql_gives_what_the_last_statement_gives(engine: LocalEngine) -> None:
    query = engine.sql(f"SET strategy = bfs; {BEST}")
    assert isinstance(query, LocalQuery)
    assert engine.sql(f"{BEST}; SET strategy = dfs") is None
    assert [query.name for query in engine.queries] == ["query_1", "query_2"]


def test_a_query_is_found_by_its_name_whatever_its_case(engine: LocalEngine) -> None:
    best = engine.sql(f"CREATE QUERY Best AS {BEST}")
    assert engine.query("best") is best
    with pytest.raises(UnknownName, match="no query `bust`") as refused:
        engine.query("bust")
    assert "Best" in str(refused.value)


def test_statements_before_a_wrong_one_have_happened(engine: LocalEngine) -> None:
    with pytest.raises(DuplicateName, match="query `q` exists already"):
        engine.sql(
            "CREATE QUERY q AS SELECT price FROM bids; CREATE QUERY q AS SELECT item FROM bids"
        )
    assert engine.query("q").plan.schema.names == ("price",)


def test_a_replaced_query_starts_anew_and_its_old_handle_is_stopped(engine: LocalEngine) -> None:
    old = engine.sql("CREATE QUERY q AS SELECT price FROM bids")
    engine.push("bids", [bid(1)])
    new = engine.sql("CREATE OR REPLACE QUERY Q AS SELECT price + 1 AS price FROM bids")
    engine.push("bids", [bid(5)])
    assert (prices(old), prices(new)) == ([1], [6])
    assert (old.status.state, new.status.state) == ("stopped", "running")
    old.stop()  # says nothing about the new one
    assert new.status.state == "running"


def test_a_stream_can_be_replaced_again_and_again_whatever_its_case(engine: LocalEngine) -> None:
    for name in ("BIDS", "bids", "Bids"):
        engine.sql(f"CREATE OR REPLACE STREAM {name} (v INT, ts BIGINT) TIMESTAMP BY ts")
    query = engine.sql("SELECT v FROM bids")
    engine.push("bids", [{"v": 1, "ts": 1}])
    assert query.results().to_dicts() == [{"v": 1}]


def test_a_dropped_stream_can_be_declared_anew(engine: LocalEngine) -> None:
    query = engine.sql("SELECT price FROM bids")
    engine.push("bids", [bid(1)])
    with pytest.raises(QueryError, match="cannot be dropped: it is read by query `query_1`"):
        engine.sql("DROP STREAM bids")
    query.stop()
    engine.sql("DROP STREAM bids")
    with pytest.raises(UnknownName):
        engine.push("bids", [bid(2)])
    engine.sql(BIDS)
    again = engine.sql("SELECT price FROM bids")
    engine.push("bids", [bid(3)])
    assert prices(again) == [3]
    assert engine.counts("bids").rows == 1


def test_dropping_what_is_not_there_says_what_is(engine: LocalEngine) -> None:
    engine.sql("CREATE QUERY q AS SELECT price FROM bids")
    with pytest.raises(UnknownName, match="no view `q`, but a query of that name"):
        engine.sql("DROP VIEW q")
    with pytest.raises(UnknownName, match="no query `p`"):
        engine.sql("DROP QUERY p")
    assert engine.sql("DROP QUERY IF EXISTS p") is None
    assert engine.query("q").status.state == "running"


def test_stopping_a_query_leaves_what_it_shares(engine: LocalEngine) -> None:
    first, second = engine.sql(BEST), engine.sql(BEST)
    engine.push("bids", [bid(40)])
    first.stop()
    first.stop()
    engine.push("bids", [bid(41, 1)])
    engine.finish()
    assert first.results().height == 0
    assert second.results().get_column("best").to_list() == [41]
    assert repr(first) == "<LocalQuery query_1: stopped, 0 rows>"


def test_a_view_cannot_read_itself_directly_or_through_others(engine: LocalEngine) -> None:
    with pytest.raises(CyclicView, match="`v` reads itself"):
        engine.sql("CREATE VIEW v AS SELECT * FROM v")
    engine.sql("CREATE VIEW v AS SELECT item FROM bids; CREATE VIEW w AS SELECT item FROM v")
    with pytest.raises(CyclicView, match="`v` would read itself, through w") as refused:
        engine.sql("CREATE OR REPLACE VIEW v AS SELECT item FROM w")
    assert refused.value.position is not None
    # What was there before still works.
    query = engine.sql("SELECT item FROM w")
    engine.push("bids", [bid(1)])
    assert query.results().to_dicts() == [{"item": "lamp"}]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SET strategy = fast", "`strategy` cannot be `fast`"),
        ("SET stratgy = dfs", "no setting `stratgy`"),
        ("SET rows_per_step = 0", "`rows_per_step` cannot be `0`"),
        ("SET union = glue", "`union` cannot be `glue`"),
    ],
)
def test_a_wrong_setting_is_refused_at_its_place(
    engine: LocalEngine, statement: str, message: str
) -> None:
    before = engine.catalog.settings
    with pytest.raises(BadSetting) as refused:
        engine.sql(statement)
    assert refused.value.message == message
    assert "^^^" in str(refused.value)
    assert engine.catalog.settings == before


@pytest.mark.parametrize("value", ["native", "kernel", "auto", "7"])
def test_a_removed_setting_is_refused_with_the_reason_and_what_to_do(
    engine: LocalEngine, value: str
) -> None:
    before = engine.catalog.settings
    with pytest.raises(BadSetting) as refused:
        engine.sql(f"SET lowering = {value}")
    assert refused.value.message == (
        "the setting `lowering` was removed: every query runs in the kernel, which is faster than "
        "Spark SQL alone"
    )
    assert refused.value.hint == "leave `lowering` out"
    assert "^^^" in str(refused.value)
    assert engine.catalog.settings == before


def test_a_parameter_is_a_length_that_queries_use(engine: LocalEngine) -> None:
    engine.sql("DECLARE n = 5 MINUTES")
    plan: Any = engine.sql("SELECT count(*) AS n FROM bids [RANGE n]").plan
    assert plan.window.range == 5 * MINUTE


def test_a_parameter_is_known_to_the_next_text(engine: LocalEngine) -> None:
    engine.sql("DECLARE n = 5 MINUTES")
    engine.sql("CREATE STREAM late (ts TIMESTAMP) TIMESTAMP BY ts SLACK n")
    engine.sql("SET ets = periodic n")
    assert [each.stream.slack for each in engine.catalog.streams][-1] == 5 * MINUTE
    assert engine.catalog.settings.ets.every == 5 * MINUTE


def test_explain_shows_plans_and_declares_nothing(engine: LocalEngine) -> None:
    shown = str(engine.sql(f"EXPLAIN {BEST}"))
    assert shown.splitlines()[0].startswith("WindowAggregate max(price) AS best by item")
    assert "Bucket > WidAggregate" in shown
    assert engine.queries == []
    best = engine.sql(f"CREATE QUERY best AS {BEST}")
    assert engine.sql("EXPLAIN best") == shown == best.explain()
    assert engine.sql(f"EXPLAIN CREATE QUERY other AS {BEST}") == shown
    with pytest.raises(UnknownName, match="no stream, table, view or query `bets`") as refused:
        engine.sql("EXPLAIN bets")
    assert "did you mean `best`?" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT prize FROM bids", UnknownName),
        ("SELECT count(*) FROM bids", CannotWindow),
        ("SELECT count(*) FROM bids [RANGE 10 MINUTES, WA price]", CannotWindow),
        ("SELECT count(*) FROM bids [RANGE 0 MINUTES]", CannotWindow),
        ("SELECT count(*) FROM bids [RANGE 1 MINUTE, SLIDE -1 MINUTE]", QueryError),
        ("SELECT count(*) FROM bids [RANGE 10 ROWS, WA ts]", CannotWindow),
        ("SELECT count(*) FROM bids [RANGE 10 MINUTES, WA row_num]", CannotWindow),
        ("SELECT price + item FROM bids", QueryError),
        ("SELECT price FROM offers", UnknownName),
        ("SELECT price FROM bids WHERE price", QueryError),
    ],
)
def test_a_query_that_makes_no_sense_is_refused_at_its_place(
    engine: LocalEngine, text: str, error: type[QueryError]
) -> None:
    with pytest.raises(error) as refused:
        engine.sql(f"CREATE QUERY q AS {text}")
    place = refused.value.position
    assert place is not None
    assert place.start >= len("CREATE QUERY q AS ") - 1
    assert engine.queries == []
    assert engine.catalog.get("q") is None


# --- looking ------------------------------------------------------------------------------------


def test_state_can_be_listed_and_goes_when_windows_close(engine: LocalEngine) -> None:
    engine.sql(BEST)
    engine.push("bids", [bid(1, item=str(n)) for n in range(50)])
    kept = {table: (rows, size) for _, table, rows, size in engine.state()}
    assert kept["partials"][0] == 50
    assert kept["partials"][1] > 0
    engine.punctuate("bids", NOON + timedelta(hours=1))
    assert [rows for _, _, rows, _ in engine.state() if rows] == []


def test_tables_are_described_with_their_columns_and_times(engine: LocalEngine) -> None:
    engine.sql(
        BIDS.replace("bids", "tardy") + " SLACK 1 HOUR; SELECT item, ts FROM tardy ORDER BY ts"
    )
    engine.push("tardy", [bid(1)])
    [waiting] = [found for tables in engine.tables().values() for found in tables if found.rows]
    assert (waiting.table, dict(waiting.columns)) == ("waiting", {"item": "String", "ts": "Int64"})
    assert waiting.extent == ("ts", to_ticks(NOON), to_ticks(NOON))
