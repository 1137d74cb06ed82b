"""Joins give way to others that test conditions sooner, and nobody can tell by the results.

A condition on a view stays above the view's joins as long as another query reads them as well.
When that one is gone, and the joins change, it is tested before rows are stored: rows that do not
meet it must not move, and those that do must not be lost.
"""

from __future__ import annotations

from penstock.local.engine import LocalEngine
from penstock.oracle.evaluate import evaluate, same_rows
from tests.engine.draw import Draw
from tests.engine.laws import Law, checks_of
from tests.engine.random_many_joins import many_joins, skewed_arrivals
from tests.engine.random_streams import pushed
from tests.engine.running import feed, how, rows_of, started
from tests.runtime.test_migrating import any_shape, migrated, restarted
from tests.ticks import push_ticks


def moving_conditions_changes_no_result(draw: Draw) -> None:
    """Queries over one view, of which one has conditions; the others go when they like."""
    asked = many_joins(draw, plain=True)
    events = skewed_arrivals(draw, asked.declared)
    engine = started(asked.declared, *how(draw, ["auto"]))
    engine.sql(f"CREATE VIEW j AS {asked.text}")
    one, other = (draw.choose(asked.names) for _ in range(2))
    conditions = [f"{one}d > {draw.between(0, 12)}"]
    conditions += draw.choose([[], [f"{other}d < 30"], [f"{one}d + {other}d > 7"]])
    text = f"SELECT {draw.choose(['*', f'{other}t'])} FROM j WHERE {' AND '.join(conditions)}"
    if draw.choose([*[False] * 3, True]):
        text = f"SELECT count(*) AS n FROM ({text}) [RANGE 5 MICROSECONDS, WA {other}t]"
    engine.sql("; ".join(f"SET {each}" for each in any_shape(draw, asked)))
    engine.sql("CREATE QUERY all_of_it AS SELECT * FROM j")
    query = engine.sql(f"CREATE QUERY q AS {text}")
    there = True
    for event in events:
        feed(engine, [event])
        if there and draw.choose([*[False] * 4, True]):
            engine.sql("DROP QUERY all_of_it")
            there = False
        if draw.choose([False, False, True]):
            migration = draw.choose(["auto", "ms", "pt", "pt_published"])
            options = [*any_shape(draw, asked), f"migration = {migration}"]
            altered = draw.choose(["q", "q", "all_of_it"] if there else ["q"])
            migrated(engine, altered, ", ".join(options))
        if draw.choose([*[False] * 9, True]):
            restarted(engine)
    engine.finish()
    rows = pushed(asked.declared, events)
    for each in engine.queries:
        assert same_rows(rows_of(each.to_polars()), evaluate(each.plan, rows)), (asked.text, text)
    assert query in engine.queries
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"


#: Law -> how many seeds.
LAWS: dict[Law, int] = {moving_conditions_changes_no_result: 6}
(
    test_it_holds_over_many_seeds,
    test_it_holds_over_thousands_of_seeds,
    test_it_holds_for_hypothesis,
) = checks_of(LAWS, thousands=1000)


# --- one thing at a time ------------------------------------------------------------------------

VIEW = (
    "CREATE VIEW j AS SELECT a.w AS aw, b.v AS bv, c.v AS cv FROM a "
    "JOIN b ON a.k = b.k WITHIN 5 SECONDS JOIN c ON b.k = c.k WITHIN 5 SECONDS"
)
LEFT, RIGHT = "'((a, b), c)'", "'(a, (b, c))'"


def engine_with(query: str) -> LocalEngine:
    """One with two queries over a view, which share its joins, and four rows of each stream."""
    engine = LocalEngine()
    for name in "abc":
        columns = "k INT, v INT, w INT, ts TIMESTAMP"
        engine.sql(f"CREATE STREAM {name} ({columns}) TIMESTAMP BY ts ORDERED")
    engine.sql(f"SET join_order = {LEFT}; {VIEW}; CREATE QUERY other AS SELECT aw, bv, cv FROM j")
    engine.sql(f"CREATE QUERY q AS {query}")
    push(engine, 0, 1, 2, 3)
    return engine


def push(engine: LocalEngine, *seconds: int) -> None:
    for name in "abc":
        rows = [{"k": 1, "v": each, "w": -each, "ts": each * 1_000_000} for each in seconds]
        push_ticks(engine, name, rows)


def stored(engine: LocalEngine) -> set[str]:
    """The columns that joins store."""
    tables = (each for name, found in engine.tables().items() if "Join" in name for each in found)
    return {name for table in tables for name, _ in table.columns}


def test_rows_that_do_not_meet_a_condition_stay_behind_when_it_is_tested_sooner() -> None:
    engine = engine_with("SELECT bv, cv FROM j WHERE aw < -1 AND bv > 0")
    engine.sql("DROP QUERY other")
    assert "a.w" in stored(engine)
    engine.sql(f"ALTER QUERY q SET (join_order = {RIGHT})")
    [migration] = engine.status().migrations
    # Two rows of a and three of b are left; results of b and c are computed of these.
    assert (migration.filtered, migration.moved, migration.recomputed) == (5, 4, 12)
    assert "5 rows filtered" in str(migration)
    assert "a.w" not in stored(engine), "nobody reads it any more"
    push(engine, 4)
    found = engine.query("q").results()
    assert found.height == 3 * 4 * 5  # rows of a, b and c
    assert found.get_column("bv").min() == 1


def test_a_condition_goes_back_above_joins_that_another_query_runs() -> None:
    engine = engine_with("SELECT bv, cv FROM j WHERE aw < -1")
    engine.sql(f"ALTER QUERY q SET (join_order = {RIGHT})")
    engine.sql(f"ALTER QUERY q SET (join_order = {LEFT})")
    assert [each.filtered for each in engine.status().migrations] == [2, 0]
    push(engine, 4)
    assert engine.query("q").results().height == 3 * 5 * 5


def test_a_condition_stays_above_joins_that_hold_back_what_would_not_meet_it() -> None:
    engine = engine_with("SELECT bv, cv FROM j WHERE aw < -1")
    engine.sql("DROP QUERY other")
    engine.sql("ALTER QUERY q SET (join = filter_order, join_order = auto)")
    assert [each.filtered for each in engine.status().migrations] == [0]
    push(engine, 4)
    engine.finish()
    assert engine.query("q").results().height == 3 * 5 * 5
