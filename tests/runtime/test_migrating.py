"""Joins of running queries give way to others, and nobody can tell by the results.

What the laws can catch: results lost or doubled for want of a row that was forgotten, computed
anew or not; rows that move under other keys; bounds that go back or come too early; results that
are held back and lost or doubled; states of queries that share joins; results that come later than
their last row, or out of order. All old/new combinations of the rows of a result are counted: each
must have occurred.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import polars as pl
import pytest

from penstock.errors import NotExecutable
from penstock.local.engine import LocalEngine
from penstock.optimizer.rechoose import Change
from penstock.optimizer.specs import WindowJoinSpec
from penstock.oracle.evaluate import evaluate, same_rows
from tests.engine.draw import Draw, Seeded, check_seeds
from tests.engine.laws import Law, checks_of
from tests.engine.random_many_joins import (
    ManyJoins,
    many_joins,
    other_queries,
    skewed_arrivals,
)
from tests.engine.random_streams import Event, Push, pushed
from tests.engine.running import feed, how, rows_of, started
from tests.engine.test_join_shapes import named
from tests.optimizer.joins.trees import any_tree
from tests.ticks import push_ticks

#: How often the rows of a result came before (False) or after a migration.
COMBINATIONS: Counter[tuple[bool, ...]] = Counter()
#: Why a query cannot change just now.
LATER = (
    "have forgotten rows",
    "is just changing",
    "have no place in TSMJoin",
    "test conditions later",
)
ORDERING = ("sync_filter", "filter_order", "adaptive", "tsm")


def any_shape(draw: Draw, asked: ManyJoins) -> list[str]:
    """Settings by which its joins have some shape."""
    tree = draw.choose(["auto", named(any_tree(draw, range(len(asked.inputs))), asked.inputs)])
    return [f"join = {draw.choose(['oa', 'mjoin'])}", f"join_order = '{tree}'"]


def any_order(draw: Draw, asked: ManyJoins) -> list[str]:
    """Settings by which results come in order, by some tactic."""
    return [f"join = {draw.choose(ORDERING)}", "join_order = auto"]


def any_shape_or_order(draw: Draw, asked: ManyJoins) -> list[str]:
    return draw.choose([any_shape, any_order])(draw, asked)


def migrated(engine: LocalEngine, query: str, options: str) -> bool:
    """Alter a query, if that can be done just now."""
    try:
        engine.sql(f"ALTER QUERY {query} SET ({options})")
    except NotExecutable as refused:
        assert any(reason in str(refused) for reason in LATER), refused
        return False
    return True


def restarted(engine: LocalEngine) -> None:
    """All operators are built anew, and get what was written down of their state."""
    engine._host.change(Change(engine._plans, {}, ("", "")))


@dataclass
class Run:
    """What has come and gone: one query migrates again and again; its twin, if it has one, not."""

    asked: ManyJoins
    events: list[Event]
    found: list[tuple[int, pl.DataFrame]]  # results, with the event after which they came
    migrations: list[int]  # the events after which they were

    @cached_property
    def came(self) -> dict[float, int]:
        """By a row's number, when it came."""
        pushes = ((number, each) for number, each in enumerate(self.events))
        return {
            row["d"]: number
            for number, event in pushes
            if isinstance(event, Push)
            for row in event.rows
        }

    def rows(self) -> Iterator[tuple[int, list[int]]]:
        """Of each result of plain joins, when it came, and when the rows did that it is made of."""
        names = [f"{name}d" for name in self.asked.names]
        for moment, results in self.found:
            for numbers in results.select(names).iter_rows():
                yield moment, [self.came[each] for each in numbers]


def run(
    draw: Draw,
    asked: ManyJoins,
    settings: list[str],
    shaped: Callable[[Draw, ManyJoins], list[str]],
) -> Run:
    """Its results are judged, and what stays in the engine."""
    events = skewed_arrivals(draw, asked.declared)
    engine = started(asked.declared, *how(draw, ["auto"]), *settings)
    engine.sql("; ".join(f"SET {each}" for each in shaped(draw, asked)))
    query = engine.sql(f"CREATE QUERY q AS {asked.text}")
    twins = []
    if draw.choose([True, False, False]):
        engine.sql("; ".join(f"SET {each}" for each in shaped(draw, asked)))
        twins.append(engine.sql(f"CREATE QUERY twin AS {asked.text}"))
    found, moments = [], []
    for number, event in enumerate(events):
        feed(engine, [event])
        if draw.choose([*[False] * 2, True]):
            migration = draw.choose(["auto", "ms", "pt", "pt", "pt_published"])
            options = [*shaped(draw, asked), f"migration = {migration}"]
            if migrated(engine, "q", ", ".join(options)):
                moments.append(number)
        if draw.choose([*[False] * 9, True]):
            restarted(engine)
        found.append((number, query.fetch()))
    engine.finish()
    found.append((len(events), query.fetch()))
    expected = evaluate(query.plan, pushed(asked.declared, events))
    all_found = pl.concat([rows for _, rows in found])
    assert same_rows(rows_of(all_found), expected), asked.text
    for twin in twins:
        assert same_rows(rows_of(twin.to_polars()), expected), asked.text
    if asked.order is not None:
        assert all_found.get_column(asked.order).is_sorted(), asked.text
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"
    return Run(asked, events, found, moments)


def migrating_changes_no_result(draw: Draw) -> None:
    settings = [f"adapt = {draw.choose(['advise', 'on', 'off'])}"]
    done = run(draw, many_joins(draw), settings, any_shape)
    if done.asked.is_plain:
        count(done)
        late = [each for each in done.rows() if each[0] != max(each[1])]
        assert late == [], f"results come when their last row has come: {done.asked.text}"


def migrating_changes_no_result_where_some_joins_keep_an_order(draw: Draw) -> None:
    run(draw, many_joins(draw, ordered=True, plain=True), [], any_shape_or_order)


def migrating_changes_no_order(draw: Draw) -> None:
    asked = many_joins(draw, ordered=True, plain=True)
    done = run(draw, asked, [], any_order)
    latest = pl.concat([r.select(pl.max_horizontal(asked.times)) for _, r in done.found])
    assert latest.to_series().is_sorted(), asked.text


def queries_that_share_joins_change_one_after_the_other(draw: Draw) -> None:
    """Each when it likes; joins that one has begun serve others, who need not wait."""
    adapt = draw.choose(["advise", "on", "off"])
    asked = many_joins(draw, (3, 3, 4), plain=True)
    for migration in refused_of_several(draw, asked, any_shape, f"adapt = {adapt}"):
        assert migration == "ms"


def so_do_queries_of_which_some_keep_an_order(draw: Draw) -> None:
    asked = many_joins(draw, (3, 3, 4), ordered=True, plain=True)
    refused_of_several(draw, asked, any_shape_or_order)


def refused_of_several(
    draw: Draw, asked: ManyJoins, shaped: Callable[[Draw, ManyJoins], list[str]], *settings: str
) -> list[str]:
    """Queries over the same joins change; gives how they could not. Their results are judged."""
    events = skewed_arrivals(draw, asked.declared, blocks=14)
    engine = started(asked.declared, *how(draw, ["auto"]), *settings)
    queries, refused = [], []
    for number, text in enumerate(other_queries(draw, asked, draw.between(2, 3))):
        engine.sql("; ".join(f"SET {each}" for each in shaped(draw, asked)))
        queries.append(engine.sql(f"CREATE QUERY q{number} AS {text}"))
    for event in events:
        feed(engine, [event])
        shape = shaped(draw, asked)
        for query in queries:
            if draw.choose([False, False, True]):
                shape = draw.choose([shape, shaped(draw, asked)])
                migration = draw.choose(["auto", "ms", "pt", "pt", "pt_published"])
                if not migrated(engine, query.name, f"{', '.join(shape)}, migration = {migration}"):
                    refused.append(migration)
        if draw.choose([*[False] * 9, True]):
            restarted(engine)
    engine.finish()
    rows = pushed(asked.declared, events)
    for query in queries:
        assert same_rows(rows_of(query.to_polars()), evaluate(query.plan, rows)), query.name
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"
    return refused


def count(done: Run) -> None:
    for _, came in done.rows():
        for moment in done.migrations:
            COMBINATIONS[tuple(each > moment for each in came)] += 1


#: Law -> how many seeds.
LAWS: dict[Law, int] = {
    migrating_changes_no_result: 10,
    migrating_changes_no_result_where_some_joins_keep_an_order: 4,
    migrating_changes_no_order: 4,
    queries_that_share_joins_change_one_after_the_other: 3,
    so_do_queries_of_which_some_keep_an_order: 3,
}
(
    test_it_holds_over_many_seeds,
    test_it_holds_over_thousands_of_seeds,
    test_it_holds_for_hypothesis,
) = checks_of(LAWS, thousands=2000)


@pytest.mark.parametrize("seed", [141, 537])
def test_what_was_refused_once_is_done(seed: int) -> None:
    """A left join that would come last by what is measured; conditions that would stand elsewhere
    because another query shares what is below them."""
    migrating_changes_no_result(Seeded(seed))


@pytest.mark.slow
@pytest.mark.parametrize(("streams", "seeds"), [(3, 20), (4, 60), (5, 200)])
def test_all_combinations_of_old_and_new_rows_occur(streams: int, seeds: int) -> None:
    def migrating(draw: Draw) -> None:
        count(run(draw, many_joins(draw, [streams], plain=True), [], any_shape))

    COMBINATIONS.clear()
    check_seeds(seeds, migrating)
    assert COMBINATIONS.keys() == {*product((False, True), repeat=streams)}


# --- one thing at a time ------------------------------------------------------------------------

CHAIN = (
    "SELECT a.v AS av, b.v AS bv, c.v AS cv FROM a JOIN b ON a.k = b.k WITHIN 5 SECONDS "
    "JOIN c ON b.k = c.k WITHIN 5 SECONDS"
)
SECOND = 1_000_000


def engine_with(*settings: str, query: str = CHAIN) -> LocalEngine:
    engine = LocalEngine()
    for name in "abc":
        engine.sql(f"CREATE STREAM {name} (k INT, v INT, ts TIMESTAMP) TIMESTAMP BY ts ORDERED")
    for setting in settings:
        engine.sql(f"SET {setting}")
    engine.sql(f"CREATE QUERY q AS {query}")
    return engine


def push(engine: LocalEngine, stream: str, *seconds: int, key: int = 1) -> None:
    rows = [{"k": key, "v": second, "ts": second * SECOND} for second in seconds]
    push_ticks(engine, stream, rows)


def found(engine: LocalEngine) -> list[tuple[int, ...]]:
    return sorted(engine.query("q").results().rows())


def shapes(engine: LocalEngine) -> list[tuple[str, str, str]]:
    return [(each.how, each.before, each.after) for each in engine.status().migrations]


def segments(engine: LocalEngine, operator: str) -> set[int]:
    return {
        segment.id
        for name, state in engine._host.graph.states()
        if operator in name
        for _, table in state.tables()
        for segment in table.segments
    }


@pytest.mark.parametrize("migration", ["ms", "pt"])
def test_every_combination_of_old_and_new_rows_occurs_once(migration: str) -> None:
    engine = engine_with()
    for second in range(10, 20):
        for name in "abc":
            push(engine, name, second)
        if second in (12, 15):  # the second one while the first is under way, if both run
            join = "mjoin" if second == 12 else "auto"
            engine.sql(f"ALTER QUERY q SET (join = {join}, migration = {migration})")
    results = found(engine)
    assert results == expected_of(range(10, 20))
    for moment in (12, 15):
        combinations = {tuple(each > moment for each in result) for result in results}
        assert combinations == set(product((False, True), repeat=3))


TREE, MJOIN = "OAJoin(OAJoin(a, b), c)", "MJoin(a, b, c)"


def test_rows_move_by_reference_and_what_is_missing_is_computed() -> None:
    engine = engine_with()
    for name in "abc":
        push(engine, name, 1, 2)
    assert len(found(engine)) == 8
    before = segments(engine, "OAJoin")
    engine.sql("ALTER QUERY q SET (join = mjoin)")
    moved = segments(engine, "MJoin")
    assert moved and moved <= before
    engine.sql("ALTER QUERY q SET (join = oa)")
    assert moved <= segments(engine, "OAJoin")
    assert shapes(engine) == [("moving state", TREE, MJOIN), ("moving state", MJOIN, TREE)]
    first, second = engine.status().migrations
    assert (first.moved, first.sorted_again, first.recomputed) == (6, 0, 0)
    assert (second.moved, second.sorted_again, second.recomputed) == (6, 0, 4)
    assert first.is_over and first.pause > 0
    push(engine, "c", 3)
    assert found(engine) == sorted(product((1, 2), (1, 2), (1, 2, 3)))


def test_rows_that_a_lagging_input_needs_are_there_for_every_shape() -> None:
    engine = engine_with()
    push(engine, "a", 1, 30)
    push(engine, "b", 1, 30)  # a join of a and b alone would have forgotten the first rows
    engine.sql("ALTER QUERY q SET (join = mjoin)")
    push(engine, "c", 2)
    assert found(engine) == [(1, 1, 2)]


def test_without_them_state_is_not_moved_while_an_input_lags_behind() -> None:
    engine = engine_with("adapt = off")
    push(engine, "a", 1, 30)
    push(engine, "b", 1, 30)
    with pytest.raises(NotExecutable, match="have forgotten rows of `a`"):
        engine.sql("ALTER QUERY q SET (join = mjoin, migration = ms)")
    engine.sql("ALTER QUERY q SET (join = mjoin)")
    assert shapes(engine) == [("parallel track", TREE, MJOIN)]
    push(engine, "c", 2)
    assert found(engine) == [(1, 1, 2)]
    push(engine, "c", 30)
    engine.sql("ALTER QUERY q SET (join = oa, migration = ms)")
    assert found(engine) == [(1, 1, 2), (30, 30, 30)]


def test_parallel_tracks_end_when_no_result_needs_an_old_row() -> None:
    engine = engine_with()
    for name in "abc":
        push(engine, name, 10)
    engine.sql("ALTER QUERY q SET (join = mjoin, migration = pt)")
    [both] = engine.status().migrations
    assert not both.is_over
    for second in range(11, 22):
        for name in "abc":
            push(engine, name, second)
    [both] = engine.status().migrations
    assert both.is_over
    assert names_of(engine) == ["MJoin", "Project"]
    assert len(found(engine)) == len(expected_of(range(10, 22)))


def test_as_published_they_end_when_no_old_row_is_stored_which_takes_two_windows() -> None:
    ended: dict[str, int] = {}
    for migration in ("pt", "pt_published"):
        engine = engine_with()
        for second in range(10, 30):
            for name in "abc":
                push(engine, name, second)
            if second == 15:
                engine.sql(f"ALTER QUERY q SET (join = mjoin, migration = {migration})")
            if second >= 15 and engine.status().migrations[0].is_over:
                ended.setdefault(migration, second - 15)
        assert len(found(engine)) == len(expected_of(range(10, 30)))
    assert ended == {"pt": 6, "pt_published": 11}  # windows of 5 s


def test_a_third_shape_can_come_before_the_second_has_taken_over() -> None:
    engine = engine_with()
    for name in "abc":
        push(engine, name, 10)
    engine.sql("ALTER QUERY q SET (join = mjoin, migration = pt)")
    push(engine, "a", 11)
    engine.sql("ALTER QUERY q SET (join = filter_order, migration = ms)")
    push(engine, "b", 12)
    engine.sql("ALTER QUERY q SET (join = oa, migration = pt)")
    push(engine, "c", 13)
    engine.sql("ALTER QUERY q SET (join = filter_order)")  # as it was
    engine.finish()
    rows = {"a": [10, 11], "b": [10, 12], "c": [10, 13]}
    assert found(engine) == sorted(product(*rows.values()))


def test_what_stands_above_stays_with_its_state() -> None:
    query = f"SELECT count(*) AS n FROM ({CHAIN.replace('SELECT', 'SELECT a.ts AS t,')}) "
    engine = engine_with(query=query + "[RANGE 10 SECONDS, SLIDE 10 SECONDS, WA t]")
    for name in "abc":
        push(engine, name, 1)
    engine.sql("ALTER QUERY q SET (join = mjoin)")
    for name in "abc":
        push(engine, name, 2)
    engine.finish()
    assert engine.query("q").results().get_column("n").to_list() == [8]


def test_explain_live_tells_of_changes() -> None:
    engine = engine_with()
    for name in "abc":
        push(engine, name, 1)
    engine.sql("ALTER QUERY q SET (join = mjoin)")
    told = str(engine.sql("EXPLAIN LIVE q")).splitlines()
    assert told[-2] == "operators that have changed:"
    assert told[-1].startswith(f"  {TREE} → {MJOIN} by moving state: took ")
    assert told[-1].endswith("3 rows moved; ALTER QUERY")


def names_of(engine: LocalEngine) -> list[str]:
    return [each.spec.name for each in engine._plans["q"].walk() if each.inputs][-2:]


def expected_of(seconds: Sequence[int]) -> list[tuple[int, ...]]:
    return [(a, b, c) for a, b, c in product(seconds, repeat=3) if max(a, b, c) - min(a, b, c) <= 5]


def test_what_a_join_that_stays_has_forgotten_is_missed_as_well() -> None:
    engine = LocalEngine()
    for name in "abcde":
        engine.sql(f"CREATE STREAM {name} (k INT, v INT, ts TIMESTAMP) TIMESTAMP BY ts ORDERED")
    joins = " ".join(f"JOIN {name} ON a.k = {name}.k WITHIN 5 SECONDS" for name in "bcde")
    engine.sql("SET adapt = off; SET join_order = '((((a, b), c), d), e)'")
    engine.sql(f"CREATE QUERY q AS SELECT a.v AS av, e.v AS ev FROM a {joins}")
    for name in "abcd":
        push(engine, name, 1)
    push(engine, "c", 100)  # so results of a and b are forgotten, which nobody waits for
    push(engine, "d", 100)
    wanted = "join_order = '((((a, b), c), e), d)'"
    with pytest.raises(NotExecutable, match="have forgotten rows"):
        engine.sql(f"ALTER QUERY q SET ({wanted}, migration = ms)")
    engine.sql(f"ALTER QUERY q SET ({wanted})")
    push(engine, "e", 1)
    assert found(engine) == [(1, 1)]


# --- several queries ----------------------------------------------------------------------------


def engine_with_other(query: str, other: str, *settings: str) -> LocalEngine:
    engine = engine_with(*settings, query=query)
    engine.sql(f"CREATE QUERY other AS {other}")
    return engine


def joins_that_run(engine: LocalEngine) -> list[str]:
    joins = {
        each.id: each.spec.name
        for plan in engine._plans.values()
        for each in plan.walk()
        if isinstance(each.spec, WindowJoinSpec)
    }
    return sorted(joins.values())


def test_joins_that_one_query_has_begun_serve_another() -> None:
    sums = CHAIN.replace("a.v AS av", "a.v + 100 AS av")
    engine = engine_with_other(CHAIN, sums)
    for second in range(10, 22):
        for name in "abc":
            push(engine, name, second)
        if second == 12:
            engine.sql("ALTER QUERY q SET (join = mjoin, migration = pt)")
        if second == 13:
            with pytest.raises(NotExecutable, match="joins with `q`, which is just changing"):
                engine.sql("ALTER QUERY other SET (join = mjoin, migration = ms)")
            engine.sql("ALTER QUERY other SET (join = mjoin)")
            assert joins_that_run(engine) == ["MJoin", "OAJoin", "OAJoin"]
    assert [each.how for each in engine.status().migrations] == ["parallel track"] * 2
    assert joins_that_run(engine) == ["MJoin"]
    results = expected_of(range(10, 22))
    assert found(engine) == results
    others = sorted(engine.query("other").results().rows())
    assert others == [(a + 100, b, c) for a, b, c in results]


def test_joins_go_when_others_have_taken_over_though_aggregates_above_have_another_past() -> None:
    rows = CHAIN.replace("SELECT", "SELECT a.ts AS t,")
    counted = f"SELECT count(*) AS n FROM ({rows}) [RANGE 8 SECONDS, SLIDE 4 SECONDS, WA t]"
    engine = engine_with_other(counted, counted)
    for second in range(10, 40):
        for name in "abc":
            push(engine, name, second)
        if second in (12, 15):
            query = "q" if second == 12 else "other"
            engine.sql(f"ALTER QUERY {query} SET (join = mjoin, migration = pt)")
    assert joins_that_run(engine) == ["MJoin"]
    assert all(each.is_over for each in engine.status().migrations)
    engine.finish()
    answers = engine.query("q").results().rows()
    assert answers and answers == engine.query("other").results().rows()


def test_joins_side_by_side_wait_for_results_whose_rows_are_forgotten() -> None:
    engine = engine_with("adapt = off")
    push(engine, "c", -20)
    for name in "ab":
        push(engine, name, 1)
        engine.punctuate(name, 30 * SECOND)  # the rows go; their result waits for a row of `c`
    engine.sql("ALTER QUERY q SET (join_order = '(a, (b, c))')")
    push(engine, "c", -10)
    push(engine, "c", 2)
    assert found(engine) == [(1, 1, 2)]


@pytest.mark.parametrize("join", ["oa", "filter_order"])
def test_queries_that_share_a_join_that_keeps_an_order_can_change_one_after_the_other(
    join: str,
) -> None:
    engine = engine_with_other(CHAIN, CHAIN, "join = sync_filter")
    for name in "abc":
        push(engine, name, 10, 11)  # the last ones wait
    engine.sql(f"ALTER QUERY q SET (join = {join})")
    push(engine, "a", 12)
    engine.sql(f"ALTER QUERY other SET (join = {join})")
    for name in "bc":
        push(engine, name, 12)
    # Joins that hold nothing back are shared again, those that do are not.
    assert joins_that_run(engine) == {"oa": ["OAJoin"], "filter_order": ["FilterOrder"]}[join] * 2
    engine.finish()
    assert found(engine) == expected_of(range(10, 13))
    assert sorted(engine.query("other").results().rows()) == expected_of(range(10, 13))
    assert [each.query for each in engine.status().migrations] == ["q", "other"]
