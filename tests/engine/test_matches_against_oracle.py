"""MATCH_RECOGNIZE against a matcher that is written from the definition.

Random patterns, conditions, skips and measures, over streams in disorder, with ties, lulls and
NULLs, cut into any blocks. Results must be the oracle's; and behind them, what waits for the times
of matches must get them (windows, ORDER BY).
"""

from __future__ import annotations

from penstock.errors import NotExecutable
from penstock.local.engine import LocalEngine
from penstock.local.query import LocalQuery
from tests.engine.draw import Draw
from tests.engine.laws import Law, checks_of
from tests.engine.random_matches import match_queries, timed_match_queries
from tests.engine.random_streams import UNITS, Declared, arrivals, declarations, pushed
from tests.engine.running import assert_right, feed, how, started


def declared_query(engine: LocalEngine, text: str) -> LocalQuery | None:
    """The query; None where its pattern can match no rows, or its skip would never go on."""
    try:
        return engine.sql(text)
    except NotExecutable as error:
        assert "match no rows" in str(error) or "for ever" in str(error), error
        return None


def run(draw: Draw, text: str, declared: list[Declared], *settings: str) -> LocalQuery | None:
    """What became of a query, which must be what the oracle says; None: there was none."""
    engine = started(declared, *settings)
    query = declared_query(engine, text)
    if query is None:
        return None
    events = arrivals(draw, declared)
    feed(engine, events)
    engine.finish()
    try:
        assert_right(query, pushed(declared, events), text)
    except NotExecutable as error:
        assert "too many ways" in str(error), error
        return None
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"
    return query


def matches_are_the_oracles(draw: Draw) -> None:
    declared = declarations(draw)
    text = match_queries(draw, UNITS[declared[0].time])
    limits = draw.choose([(), (), ("match_rows = 3",)])
    run(draw, text, declared, *how(draw), *limits)


def what_waits_for_the_times_of_matches_gets_them(draw: Draw) -> None:
    declared = declarations(draw)
    text = timed_match_queries(draw, UNITS[declared[0].time])
    query = run(draw, text, declared, *how(draw))
    if query is not None and "ORDER BY m0" in text:
        times = query.results().get_column("m0").to_list()
        assert times == sorted(times), text


def order_everywhere_changes_nothing(draw: Draw) -> None:
    declared = declarations(draw)
    text = match_queries(draw, UNITS[declared[0].time])
    run(draw, text, declared, "mode = iop")


#: Law -> how many seeds.
LAWS: dict[Law, int] = {
    matches_are_the_oracles: 20,
    what_waits_for_the_times_of_matches_gets_them: 15,
    order_everywhere_changes_nothing: 10,
}
(
    test_it_holds_over_many_seeds,
    test_it_holds_over_thousands_of_seeds,
    test_it_holds_for_hypothesis,
) = checks_of(LAWS)
