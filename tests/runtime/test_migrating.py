"""Joins of running queries give way to others, and nobody can tell by the results.

What the laws can catch: results lost or doubled for want of a row that was forgotten, computed
anew or not; rows that move under other keys; bounds that go back or come too early; results that
are held back and lost or doubled; states of queries that share joins. All old/new combinations of
the rows of a result are counted: each must have occurred.
"""

from __future__ import annotations

from collections import Counter

import polars as pl

from penstock.errors import NotExecutable
from penstock.local.engine import LocalEngine
from penstock.optimizer.rechoose import Change
from penstock.oracle.evaluate import evaluate, same_rows
from tests.engine.draw import Draw
from tests.engine.laws import Law, checks_of
from tests.engine.random_many_joins import ManyJoins, many_joins, skewed_arrivals
from tests.engine.random_streams import Event, Push, pushed
from tests.engine.running import feed, how, rows_of, started

#: By number of streams, how often rows of results came before and after a migration.
COMBINATIONS: Counter[tuple[bool, ...]] = Counter()


def join_settings(draw: Draw, ordered: bool) -> str:
    words = ["oa", "mjoin", "auto"]
    if ordered:
        words += ["sync_filter", "filter_order", "adaptive", "tsm"]
    return draw.choose(words)


def migrated(engine: LocalEngine, query: str, options: str) -> bool:
    """Alter a query, if that can be done just now."""
    try:
        engine.sql(f"ALTER QUERY {query} SET ({options})")
    except NotExecutable:
        return False
    return True


def restarted(engine: LocalEngine) -> None:
    """All operators are built anew, and get what was written down of their state."""
    engine._host.change(Change(engine._plans, {}, ("", "")))


def migrating_changes_no_result(draw: Draw) -> None:
    check(draw, many_joins(draw), [f"adapt = {draw.choose(['advise', 'on', 'off'])}"])


def migrating_changes_no_result_and_no_order(draw: Draw) -> None:
    asked = many_joins(draw, ordered=True, plain=True)
    check(draw, asked, [], ordered=True)


def check(draw: Draw, asked: ManyJoins, settings: list[str], *, ordered: bool = False) -> None:
    """One query migrates again and again; its twin, if it has one, does not."""
    events = skewed_arrivals(draw, asked.declared)
    engine = started(asked.declared, *how(draw, ["auto"]), *settings)
    engine.sql(f"SET join = {join_settings(draw, ordered)}")
    queries = [engine.sql(f"CREATE QUERY q AS {asked.text}")]
    if draw.choose([True, False, False]):
        engine.sql(f"SET join = {join_settings(draw, ordered)}")
        queries.append(engine.sql(f"CREATE QUERY twin AS {asked.text}"))
    moments = []
    for number, event in enumerate(events):
        feed(engine, [event])
        if draw.choose([*[False] * 2, True]):
            migration = draw.choose(["auto", "ms", "pt", "pt"])
            options = f"join = {join_settings(draw, ordered)}, migration = {migration}"
            if migrated(engine, "q", options):
                moments.append(number)
        if draw.choose([*[False] * 9, True]):
            restarted(engine)
    engine.finish()
    found = queries[0].results()
    expected = evaluate(queries[0].plan, pushed(asked.declared, events))
    assert same_rows(rows_of(found), expected), asked.text
    for twin in queries[1:]:
        assert same_rows(rows_of(twin.results()), expected), asked.text
    if asked.is_plain:
        count(asked, found, events, moments)
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"


def count(asked: ManyJoins, found: pl.DataFrame, events: list[Event], moments: list[int]) -> None:
    came = {
        row["d"]: number
        for number, event in enumerate(events)
        if isinstance(event, Push)
        for row in event.rows
    }
    for numbers in found.select(f"{name}d" for name in asked.names).iter_rows():
        for moment in moments:
            COMBINATIONS[tuple(came[each] > moment for each in numbers)] += 1


#: Law -> how many seeds.
LAWS: dict[Law, int] = {
    migrating_changes_no_result: 40,
    migrating_changes_no_result_and_no_order: 20,
}
(
    test_it_holds_over_many_seeds,
    test_it_holds_over_thousands_of_seeds,
    test_it_holds_for_hypothesis,
) = checks_of(LAWS, thousands=1000)
