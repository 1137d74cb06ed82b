"""Options of a running query are changed, and nobody can tell by the answers.

What each test can catch: windows answered twice, not at all or from a part of their rows, also
those of queries that share operators and do not change (the laws); changes that are not made, made
for others, or undone (the others).
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from penstock.errors import BadSetting, NotExecutable
from penstock.local.engine import LocalEngine
from penstock.local.query import LocalQuery
from penstock.oracle.evaluate import evaluate, same_rows
from tests.engine.draw import Draw, several
from tests.engine.laws import Law, checks_of
from tests.engine.random_queries import nested_queries, window_queries
from tests.engine.random_streams import UNITS, arrivals, declarations, pushed
from tests.engine.running import (
    AGGREGATION_SETTINGS,
    PROMPT_SETTINGS,
    assert_right,
    feed,
    how,
    rows_of,
    started,
)
from tests.runtime.restless import changing_all_the_time
from tests.runtime.test_rechoosing import names
from tests.ticks import push_ticks

# --- laws ---------------------------------------------------------------------------------------


def altering_changes_no_answer(draw: Draw) -> None:
    """One query is altered again and again; its twin and another one are not."""
    declared = declarations(draw)
    unit = UNITS[declared[0].time]
    kinds = (window_queries, window_queries, nested_queries)
    text, other = several(draw, 2, 2, lambda draw: draw.choose(kinds)(draw, unit))
    events = arrivals(draw, declared, blocks=12)
    engine = started(declared, *how(draw, PROMPT_SETTINGS))
    queries = [engine.sql(f"CREATE QUERY q{n} AS {t}") for n, t in enumerate([text, text, other])]
    kept = [names(engine._plans[name]) for name in ("q1", "q2")]
    for event in events:
        feed(engine, [event])
        if draw.choose([True, False]):
            altered(engine, "q0", draw.choose(AGGREGATION_SETTINGS))
    if engine.catalog.queries[1].options.aggregation != "auto":
        assert [names(engine._plans[name]) for name in ("q1", "q2")] == kept
    engine.finish()
    for each, asked in zip(queries, [text, text, other], strict=True):
        assert_right(each, pushed(declared, events), asked)


def altering_and_choosing_again_change_no_answer(draw: Draw) -> None:
    """All queries are altered, while whatever is chosen by cost is chosen again all the time."""
    declared = declarations(draw)
    unit = UNITS[declared[0].time]
    kinds = (window_queries, nested_queries)
    texts = several(draw, 1, 2, lambda draw: draw.choose(kinds)(draw, unit))
    texts.append(texts[0])
    events = arrivals(draw, declared, blocks=12)
    with changing_all_the_time():
        engine = started(declared, *how(draw, ("auto", "wid", "paned")))
        queries = [engine.sql(f"CREATE QUERY q{n} AS {t}") for n, t in enumerate(texts)]
        for event in events:
            feed(engine, [event])
            query = draw.between(0, len(texts) - 1)
            altered(engine, f"q{query}", draw.choose(["auto", "wid", "paned"]))
        engine.finish()
    for each, asked in zip(queries, texts, strict=True):
        assert_right(each, pushed(declared, events), asked)


def altered(engine: LocalEngine, query: str, aggregation: str) -> bool:
    """Alter a query, if that can be done just now."""
    before = engine.catalog.get(query)
    try:
        engine.sql(f"ALTER QUERY {query} SET (aggregation = {aggregation})")
    except NotExecutable:
        assert engine.catalog.get(query) is before
        return False
    return True


#: Law -> how many seeds.
LAWS: dict[Law, int] = {
    altering_changes_no_answer: 14,
    altering_and_choosing_again_change_no_answer: 10,
}
(
    test_it_holds_over_many_seeds,
    test_it_holds_over_thousands_of_seeds,
    test_it_holds_for_hypothesis,
) = checks_of(LAWS, thousands=1000)


# --- one thing at a time ------------------------------------------------------------------------

STREAMS = (
    "CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;"
    "CREATE STREAM t (k BIGINT, w BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;"
)
MAX = "SELECT k, max(v) AS m FROM s [RANGE 4 SECONDS, SLIDE 1 SECOND] GROUP BY k"
PAIRS = "SELECT s.k, v, w FROM s JOIN t ON s.k = t.k WITHIN 5 SECONDS"


def engine_with(*queries: str, settings: Sequence[str] = ("aggregation = wid",)) -> LocalEngine:
    engine = LocalEngine()
    engine.sql(STREAMS + "".join(f"SET {setting};" for setting in settings))
    for number, query in enumerate(queries):
        engine.sql(f"CREATE QUERY q{number} AS {query}")
    return engine


def push(engine: LocalEngine, seconds: Sequence[int]) -> None:
    for second in seconds:
        push_ticks(engine, "s", [row(second)])


def row(second: int) -> dict[str, int]:
    return {"k": second % 2, "v": second * 7 % 5, "ts": second * 1_000_000}


def last(engine: LocalEngine, query: str = "q0") -> str:
    return names(engine._plans[query])[-1]


def assert_answers(query: LocalQuery, seconds: Sequence[int]) -> None:
    rows = [{**row(second), "row_num": n} for n, second in enumerate(seconds, start=1)]
    assert same_rows(rows_of(query.to_polars()), evaluate(query.plan, {"s": rows}))


@pytest.mark.parametrize(
    ("before", "after", "operator"),
    [
        ("wid", "paned", "PanedWid"),
        ("paned", "wid", "WidAggregate"),
        ("wid", "adapt", "AdaptWid"),
        ("paned", "adapt_paned", "PanedWid"),
        ("paned", "two_level", "HighLevel"),
    ],
)
def test_another_algorithm_takes_over_within_a_range(
    before: str, after: str, operator: str
) -> None:
    engine = engine_with(MAX, settings=[f"aggregation = {before}"])
    push(engine, range(10))
    engine.sql(f"ALTER QUERY q0 SET (aggregation = {after})")
    assert last(engine) == "Handover"
    assert "takes over from" in str(engine.sql("EXPLAIN q0"))
    push(engine, range(10, 20))
    assert last(engine) == operator
    push(engine, range(20, 30))
    engine.finish()
    assert_answers(engine.query("q0"), range(30))
    assert f"settings  aggregation = {after}" in str(engine.sql("DESCRIBE q0"))
    [migration] = engine.status().migrations
    assert (migration.how, migration.is_over) == ("handover", True)


def test_a_query_that_shares_its_operators_keeps_them() -> None:
    nested = f"SELECT k, sum(m) AS m FROM ({MAX}) [RANGE 3 SECONDS, WA window_end] GROUP BY k"
    engine = engine_with(nested, nested, MAX)
    kept = engine._plans["q1"], engine._plans["q2"]
    push(engine, range(10))
    engine.sql("ALTER QUERY q0 SET (aggregation = paned)")
    push(engine, range(10, 30))
    assert (engine._plans["q1"], engine._plans["q2"]) == kept
    assert "PanedWid" in names(engine._plans["q0"])
    engine.finish()
    for query in engine.queries:
        assert_answers(query, range(30))


def test_queries_that_are_alike_can_be_altered_one_after_the_other() -> None:
    above = f"SELECT k, m + 1 AS m, window_end FROM ({MAX}) WHERE m > 0"
    engine = engine_with(above, above)
    for query, begun in (("q0", 10), ("q1", 20)):
        push(engine, range(begun - 10, begun))
        engine.sql(f"ALTER QUERY {query} SET (aggregation = paned)")
    push(engine, range(20, 40))
    assert engine._plans["q0"] == engine._plans["q1"]
    assert "Handover" not in names(engine._plans["q1"])
    engine.finish()
    for each in engine.queries:
        assert_answers(each, range(40))


def test_what_was_asked_for_is_not_chosen_again_for_the_sake_of_another_query() -> None:
    engine = engine_with(MAX, MAX, settings=["aggregation = auto"])
    with changing_all_the_time():
        engine.sql("ALTER QUERY q0 SET (aggregation = wid)")
        for second in range(40):
            push(engine, [second])
            assert last(engine) == "WidAggregate"
    assert last(engine, "q1") == "PanedWid"
    engine.finish()
    for query in engine.queries:
        assert_answers(query, range(40))


def test_a_query_that_may_be_chosen_again_is() -> None:
    engine = engine_with(MAX)
    with changing_all_the_time():
        push(engine, range(10))
        assert last(engine) == "WidAggregate"
        engine.sql("ALTER QUERY q0 SET (aggregation = auto)")
        seen = set()
        for second in range(10, 40):
            push(engine, [second])
            seen.add(last(engine))
    assert {"WidAggregate", "PanedWid"} < seen
    engine.finish()
    assert_answers(engine.query("q0"), range(40))


def test_before_the_first_row_everything_can_be_changed() -> None:
    engine = engine_with(PAIRS, "SELECT k, ts FROM s UNION ALL SELECT k, ts FROM t")
    engine.sql("ALTER QUERY q0 SET (join = opib)")
    engine.sql("ALTER QUERY q1 SET (union = merge, aggregation = two_level, table_size = 16)")
    assert last(engine) == "Project" and "OPIBJoin" in names(engine._plans["q0"])
    assert "Merge" in names(engine._plans["q1"])
    push_ticks(engine, "s", [{"k": 1, "v": 2, "ts": 0}])
    push_ticks(engine, "t", [{"k": 1, "w": 3, "ts": 0}])
    engine.finish()
    assert engine.query("q0").results().to_dicts() == [{"k": 1, "v": 2, "w": 3}]
    assert engine.query("q1").rows == 2


def test_an_option_that_makes_no_difference_can_be_changed_at_any_time() -> None:
    engine = engine_with(MAX)
    push(engine, range(10))
    before = engine._plans["q0"]
    engine.sql("ALTER QUERY q0 SET (join = opib, union = merge)")
    assert engine._plans["q0"] == before
    assert "settings  union = merge, aggregation = wid, join = opib" in engine.sql("DESCRIBE q0")


@pytest.mark.parametrize(
    ("query", "setting", "change", "reason"),
    [
        (
            PAIRS,
            "join = oa",
            "join = opib",
            "OPIBJoin joins left rows when all their partners are there, and OAJoin has begun",
        ),
        (
            MAX,
            "aggregation = two_level",
            "aggregation = wid",
            "HighLevel and LowLevel cannot hand them over to WidAggregate",
        ),
        (
            MAX,
            "aggregation = two_level",
            "table_size = 16",
            "it cannot hand them over",
        ),
    ],
)
def test_what_would_lose_rows_is_refused_with_the_way_out(
    query: str, setting: str, change: str, reason: str
) -> None:
    engine = engine_with(query, settings=[setting])
    push(engine, range(3))
    entry, plan = engine.catalog.get("q0"), engine._plans["q0"]
    with pytest.raises(NotExecutable) as refused:
        engine.sql(f"ALTER QUERY q0 SET ({change})")
    text = f"ALTER QUERY q0 SET ({change})"
    assert str(refused.value) == (
        f"query `q0` has read rows already, and {reason}\n"
        f"  {text}\n"
        f"  {'^' * len(text)}\n"
        "  SET the option and CREATE OR REPLACE QUERY q0: it begins anew, without the rows that "
        "came before"
    )
    assert engine.catalog.get("q0") is entry and engine._plans["q0"] is plan


def test_operators_that_would_come_in_between_are_named() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (v INT, ts BIGINT) TIMESTAMP BY ts SLACK 5")
    engine.sql("CREATE QUERY q AS SELECT max(v) AS m FROM s [RANGE 4, SLIDE 1]")
    push_ticks(engine, "s", [{"v": 1, "ts": 1}])
    with pytest.raises(NotExecutable, match="and Order would not have them"):
        engine.sql("ALTER QUERY q SET (mode = iop)")


def test_one_change_after_the_other() -> None:
    engine = engine_with(MAX)
    push(engine, range(10))
    engine.sql("ALTER QUERY q0 SET (aggregation = paned)")
    engine.sql("ALTER QUERY q0 SET (aggregation = paned)")  # it is on its way
    with pytest.raises(NotExecutable) as refused:
        engine.sql("ALTER QUERY q0 SET (aggregation = wid)")
    assert refused.value.message == (
        "query `q0` is just changing: PanedWid takes over from WidAggregate with windows that end "
        "after 1970-01-01 00:00:13"
    )
    push(engine, range(10, 20))
    engine.sql("ALTER QUERY q0 SET (aggregation = wid)")
    push(engine, range(20, 30))
    assert last(engine) == "WidAggregate"
    engine.finish()
    assert_answers(engine.query("q0"), range(30))


def test_a_removed_option_is_refused_and_changes_nothing() -> None:
    engine = engine_with(MAX)
    with pytest.raises(BadSetting, match="the setting `lowering` was removed: every query runs"):
        engine.sql("ALTER QUERY q0 SET (lowering = kernel, aggregation = auto)")
    assert "settings  aggregation = wid" in engine.sql("DESCRIBE q0")


def test_a_query_that_has_ended_is_not_altered() -> None:
    engine = engine_with(MAX)
    push(engine, range(3))
    engine.finish()
    with pytest.raises(NotExecutable, match="query `q0` has ended"):
        engine.sql("ALTER QUERY q0 SET (aggregation = paned)")
