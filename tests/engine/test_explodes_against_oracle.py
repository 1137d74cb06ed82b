"""Elements of arrays and maps against the slow evaluator, which looks at one row after the other.

What can go wrong beyond a wrong element: rows without elements that stay or go where they must not,
columns that were not kept, bounds that end at an Explode, order that it loses, and conditions that
are tested in front of it although they are about elements.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.engine.draw import Draw
from tests.engine.laws import Law, checks_of
from tests.engine.random_explodes import (
    join_queries,
    nested_arrivals,
    nested_streams,
    row_queries,
    window_queries,
)
from tests.engine.random_streams import UNITS, pushed
from tests.engine.running import assert_right, feed, how, started


def check(draw: Draw, make: Callable[[Draw, str], str]) -> None:
    declared = nested_streams(draw)
    text = make(draw, UNITS[declared[0].time])
    events = nested_arrivals(draw, declared)
    mode = draw.choose(["oop", "oop", "iop"])
    engine = started(declared, f"mode = {mode}", *how(draw))
    query = engine.sql(text)
    feed(engine, events)
    engine.finish()
    assert_right(query, pushed(declared, events), text)
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"
    if "ORDER BY" in text:
        times = query.results().get_column("ts").to_list()
        assert times == sorted(times), text


def rows_of_elements_are_the_oracles(draw: Draw) -> None:
    check(draw, row_queries)


def windows_over_elements_are_the_oracles(draw: Draw) -> None:
    check(draw, window_queries)


def joins_of_elements_are_the_oracles(draw: Draw) -> None:
    check(draw, join_queries)


#: Law -> how many seeds.
LAWS: dict[Law, int] = {
    rows_of_elements_are_the_oracles: 25,
    windows_over_elements_are_the_oracles: 25,
    joins_of_elements_are_the_oracles: 25,
}
(
    test_it_holds_over_many_seeds,
    test_it_holds_over_thousands_of_seeds,
    test_it_holds_for_hypothesis,
) = checks_of(LAWS)
