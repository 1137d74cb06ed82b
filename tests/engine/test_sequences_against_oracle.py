"""Sequences against the slow evaluator, which looks at all rows for each.

What can go wrong beyond a wrong condition: a row paired before the one that precedes it has come,
one that is used twice, rows forgotten that are still to be paired, or kept for ever, bounds that
later results lie below, and rows of equal times whose order of arrival shows.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.engine.draw import Draw
from tests.engine.laws import Law, checks_of
from tests.engine.random_sequences import aggregated_sequences, sequence_queries
from tests.engine.random_streams import UNITS, arrivals, declarations, pushed
from tests.engine.running import assert_right, feed, how, started


def check(draw: Draw, make: Callable[[Draw, str], str], *settings: str, rows: int = 16) -> None:
    declared = declarations(draw)
    text = make(draw, UNITS[declared[0].time])
    events = arrivals(draw, declared, blocks=10, rows=rows)
    engine = started(declared, *settings, *how(draw))
    query = engine.sql(text)
    feed(engine, events)
    engine.finish()
    assert_right(query, pushed(declared, events), text)
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"


def recent_gives_the_oracles_answer(draw: Draw) -> None:
    check(draw, lambda d, unit: sequence_queries(d, unit, ["RECENT"]))


def chronicle_gives_the_oracles_answer(draw: Draw) -> None:
    check(draw, lambda d, unit: sequence_queries(d, unit, ["CHRONICLE"]))


def unrestricted_gives_the_oracles_answer(draw: Draw) -> None:
    check(draw, lambda d, unit: sequence_queries(d, unit, ["UNRESTRICTED"]))


def an_aggregate_over_a_sequence_gives_the_oracles_answer(draw: Draw) -> None:
    check(draw, aggregated_sequences)


def a_sequence_where_order_is_kept_gives_the_oracles_answer_in_order(draw: Draw) -> None:
    declared = declarations(draw)
    text = sequence_queries(draw, UNITS[declared[0].time])
    last = text.split(" FROM ")[0].split()[-1]
    events = arrivals(draw, declared, blocks=8)
    engine = started(declared, "mode = iop", *how(draw))
    query = engine.sql(text)
    feed(engine, events)
    engine.finish()
    assert_right(query, pushed(declared, events), text)
    times = query.results().get_column(last).to_list()
    assert times == sorted(times), text


def an_ordered_sequence_gives_the_oracles_answer_in_order(draw: Draw) -> None:
    declared = declarations(draw)
    text = sequence_queries(draw, UNITS[declared[0].time])
    last = text.split(" FROM ")[0].split()[-1]
    events = arrivals(draw, declared, blocks=8)
    engine = started(declared, *how(draw))
    query = engine.sql(f"SELECT * FROM ({text}) ORDER BY {last}")
    feed(engine, events)
    engine.finish()
    assert_right(query, pushed(declared, events), text)
    times = query.results().get_column(last).to_list()
    assert times == sorted(times), text


#: Law -> how many seeds.
LAWS: dict[Law, int] = {
    recent_gives_the_oracles_answer: 8,
    chronicle_gives_the_oracles_answer: 8,
    unrestricted_gives_the_oracles_answer: 5,
    an_aggregate_over_a_sequence_gives_the_oracles_answer: 6,
    a_sequence_where_order_is_kept_gives_the_oracles_answer_in_order: 6,
    an_ordered_sequence_gives_the_oracles_answer_in_order: 6,
}
(
    test_it_holds_over_many_seeds,
    test_it_holds_over_thousands_of_seeds,
    test_it_holds_for_hypothesis,
) = checks_of(LAWS, thousands=2000)
