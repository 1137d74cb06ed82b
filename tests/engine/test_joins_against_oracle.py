"""Window joins against the slow evaluator, which tries every pair of rows.

Random joins over random streams, in disorder within what was declared, cut into any blocks, under
every strategy and step size. What can go wrong beyond a wrong condition: pairs within one batch
found twice or not at all, rows purged or skipped too early, rows kept for ever, bounds that later
results lie below (an aggregate over the join would lose them), sides that fall silent.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from tests.engine.draw import Draw
from tests.engine.laws import Law, checks_of
from tests.engine.random_joins import (
    KINDS,
    above_a_join,
    aggregated_joins,
    join_queries,
    joined_aggregates,
    joins_of_several,
    joins_of_three,
    pair_counts,
)
from tests.engine.random_streams import NAMES, UNITS, Declared, arrivals, declarations, pushed
from tests.engine.running import assert_right, feed, how, started
from tests.ticks import push_ticks

#: Algorithms that ask for inputs in order, and give results in that of the greater time.
IN_ORDER = ("sync_filter", "filter_order", "adaptive", "tsm")


def check(draw: Draw, make: Callable[[Draw, str], str]) -> None:
    declared = declarations(draw)
    text = make(draw, UNITS[declared[0].time])
    events = arrivals(draw, declared, blocks=8)
    engine = started(declared, *how(draw))
    query = engine.sql(text)
    feed(engine, events)
    engine.finish()
    assert_right(query, pushed(declared, events), text)
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"


def a_join_gives_the_oracles_answer(draw: Draw) -> None:
    check(draw, join_queries)


def a_join_of_three_streams_gives_the_oracles_answer(draw: Draw) -> None:
    check(draw, joins_of_three)


def joins_of_several_streams_give_the_oracles_answer_by_mjoin_and_by_trees(draw: Draw) -> None:
    declared = declarations(draw)
    text = joins_of_several(draw, UNITS[declared[0].time])
    events = arrivals(draw, declared, blocks=8, rows=6)
    join = draw.choose(["mjoin", "mjoin", "auto"])
    engine = started(declared, f"join = {join}", *how(draw))
    query = engine.sql(text)
    last = "nt" if " AS nt" in text else "mt"
    counted = engine.sql(f"SELECT {last}, count(*) AS n FROM ({text}) GROUP BY {last}")
    feed(engine, events)
    engine.finish()
    assert ("MJoin" in query.explain()) is (join == "mjoin")
    assert_right(query, pushed(declared, events), text)
    assert_right(counted, pushed(declared, events), text)  # none lies below a bound
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"


def an_aggregate_over_a_join_gives_the_oracles_answer(draw: Draw) -> None:
    check(draw, aggregated_joins)


def counts_per_pair_of_timestamps_are_the_oracles(draw: Draw) -> None:
    check(draw, pair_counts)


def a_join_of_aggregates_gives_the_oracles_answer(draw: Draw) -> None:
    check(draw, joined_aggregates)


def an_ordered_query_gives_the_oracles_answer_in_order(draw: Draw) -> None:
    declared = declarations(draw)
    unit = UNITS[declared[0].time]
    text, by = draw.choose(
        [
            (join_queries(draw, unit), "lt"),
            (join_queries(draw, unit, KINDS[:4]), "rt"),
            (joins_of_three(draw, unit), "lt"),
            ("SELECT k, v, ts FROM a UNION ALL SELECT k, v, ts FROM b", "ts"),
            (f"SELECT count(*) AS n FROM a [RANGE 9{unit}, SLIDE 2{unit}]", "window_end"),
        ]
    )
    text = f"SELECT * FROM ({text}) ORDER BY {by}"
    events = arrivals(draw, declared, blocks=8)
    engine = started(declared, *how(draw))
    query = engine.sql(text)
    feed(engine, events)
    engine.finish()
    assert_right(query, pushed(declared, events), text)
    times = query.results().get_column(by).drop_nulls().to_list()
    assert times == sorted(times)
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "rows that never came out"


def an_algorithm_that_keeps_order_gives_the_oracles_answer_in_its_order(draw: Draw) -> None:
    algorithm = draw.choose([*IN_ORDER, "opob", "opib"])
    by_left = algorithm in ("opob", "opib")
    declared = declarations(draw, ordered=not by_left)
    text = join_queries(draw, UNITS[declared[0].time], ["JOIN"], [*NAMES] if not by_left else None)
    events = arrivals(draw, declared, blocks=8)
    engine = started(declared, f"join = {algorithm}", *how(draw))
    query = engine.sql(text)
    feed(engine, events)
    engine.finish()
    assert_right(query, pushed(declared, events), text)
    columns = ["lt"] if by_left else ["lt", "rt"]
    times = query.results().select(pl.max_horizontal(columns)).to_series().to_list()
    assert times == sorted(times)
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"


def what_stands_on_a_time_of_a_join_is_answered_under_every_algorithm(draw: Draw) -> None:
    algorithm = draw.choose([*IN_ORDER, "opob", "opib", "oa", "mjoin"])
    declared = declarations(draw, ordered=algorithm in IN_ORDER)
    unit = UNITS[declared[0].time]
    if draw.choose([True, False]):
        joined = join_queries(draw, unit, ["JOIN"], NAMES)
    else:
        joined = joins_of_several(draw, unit, unions=False)
    times = [f"{name}t" for name in "lrmn" if f" AS {name}t" in joined]
    text = above_a_join(draw, joined, unit, times)
    events = arrivals(draw, declared, blocks=8)
    engine = started(declared, f"join = {algorithm}", *how(draw))
    query = engine.sql(text)
    feed(engine, events)
    assert str(query.why())
    engine.finish()
    assert_right(query, pushed(declared, events), text)
    if "ORDER BY" in text:
        assert query.results().get_column("t").is_sorted()
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"


def in_order_joins_of_several_streams_give_the_oracles_answer_in_order(draw: Draw) -> None:
    declared = declarations(draw, ordered=True)
    text = joins_of_several(draw, UNITS[declared[0].time])
    events = arrivals(draw, declared, blocks=8, rows=6)
    algorithm = draw.choose(IN_ORDER)
    engine = started(declared, "union = merge", f"join = {algorithm}", *how(draw))
    query = engine.sql(text)
    last = "nt" if " AS nt" in text else "mt"
    counted = engine.sql(f"SELECT {last}, count(*) AS n FROM ({text}) GROUP BY {last}")
    feed(engine, events)
    engine.finish()
    assert "inputs at once" in query.explain()
    assert_right(query, pushed(declared, events), text)
    assert_right(counted, pushed(declared, events), text)  # none lies below a bound
    latest = pl.max_horizontal(pl.col("^.t$"))
    times = query.results().select(latest.alias("t")).get_column("t").to_list()
    assert times == sorted(times)
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"


def joins_where_order_is_kept_everywhere_give_the_oracles_answer(draw: Draw) -> None:
    declared = declarations(draw)
    unit = UNITS[declared[0].time]
    joined = join_queries(draw, unit, ["JOIN", "LEFT JOIN"])
    pairs = join_queries(draw, unit, ["JOIN"])
    near = "INTERVAL '7' MICROSECOND" if unit else "7"
    text = draw.choose(
        [
            joined,
            joins_of_several(draw, unit),
            f"SELECT p.lt AS lt, p.rt AS rt, y.v AS v FROM ({joined}) AS p JOIN b AS y "
            f"ON p.lk = y.k AND p.{draw.choose(['lt', 'rt'])} BETWEEN y.ts - {near} AND y.ts",
            f"SELECT lt, lk FROM ({joined}) UNION ALL SELECT ts, k FROM a",
            f"SELECT greatest(lt, rt) AS t FROM ({pairs}) UNION ALL SELECT ts FROM b",
            f"SELECT count(*) AS n FROM (SELECT lt, rt FROM ({pairs}) UNION ALL SELECT ts, ts "
            f"FROM b) [RANGE 9{unit}, WA {draw.choose(['lt', 'rt'])}]",
        ]
    )
    events = arrivals(draw, declared, blocks=6, rows=6)
    engine = started(declared, "mode = iop", *how(draw))
    query = engine.sql(text)
    feed(engine, events)
    engine.finish()
    assert_right(query, pushed(declared, events), text)
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"


#: Law -> how many seeds.
LAWS: dict[Law, int] = {
    a_join_gives_the_oracles_answer: 36,
    a_join_of_three_streams_gives_the_oracles_answer: 16,
    joins_of_several_streams_give_the_oracles_answer_by_mjoin_and_by_trees: 6,
    an_aggregate_over_a_join_gives_the_oracles_answer: 14,
    counts_per_pair_of_timestamps_are_the_oracles: 14,
    a_join_of_aggregates_gives_the_oracles_answer: 10,
    an_ordered_query_gives_the_oracles_answer_in_order: 20,
    an_algorithm_that_keeps_order_gives_the_oracles_answer_in_its_order: 24,
    what_stands_on_a_time_of_a_join_is_answered_under_every_algorithm: 32,
    in_order_joins_of_several_streams_give_the_oracles_answer_in_order: 8,
    joins_where_order_is_kept_everywhere_give_the_oracles_answer: 16,
}
(
    test_it_holds_over_many_seeds,
    test_it_holds_over_thousands_of_seeds,
    test_it_holds_for_hypothesis,
) = checks_of(LAWS, thousands=2000)


def test_a_row_that_is_not_there_is_near_everything() -> None:
    engine = started([Declared(name, 0) for name in ("a", "b", "c")])
    query = engine.sql(
        "SELECT l.v AS l, r.v AS r, m.v AS m FROM a AS l LEFT JOIN b AS r ON l.k = r.k "
        "WITHIN 2 MICROSECONDS LEFT JOIN c AS m ON l.k = m.k WITHIN 3 MICROSECONDS"
    )
    one = {"k": "x", "d": None}
    push_ticks(engine, "a", [{**one, "v": 1, "ts": 10}, {**one, "v": 2, "ts": 20}])
    push_ticks(engine, "b", [{**one, "v": 3, "ts": 8}])
    push_ticks(engine, "c", [{**one, "v": 4, "ts": 12}, {**one, "v": 5, "ts": 22}])
    engine.finish()
    # The partner at 8 keeps 12 away from the first row; the second has none, and meets 22.
    assert sorted(query.results().rows()) == [(1, 3, None), (2, None, 5)]
