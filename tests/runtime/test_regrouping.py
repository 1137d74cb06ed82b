"""Aggregates go below joins and above them while they run, and nobody can tell by the answers.

What can go wrong: rows of a group counted as often as they have partners or only once; windows
answered in parts while both ways run; rows that met nobody before the change lost after it.
"""

from __future__ import annotations

import pytest

from penstock.errors import NotExecutable
from penstock.local.engine import LocalEngine
from penstock.oracle.evaluate import evaluate, same_rows
from tests.engine.draw import Draw, several
from tests.engine.laws import Law, checks_of
from tests.engine.random_many_joins import any_streams, skewed_arrivals
from tests.engine.random_streams import pushed
from tests.engine.running import feed, how, rows_of, started
from tests.runtime.test_migrating import restarted
from tests.ticks import push_ticks

AGGREGATES = (
    *("count(*)", "count({0}v)", "sum({0}v)", "sum({0}d)", "min({0}v)", "max({0}d)", "max({1}v)"),
)
#: What parts do not tell.
OTHERS = ("avg({0}v)", "sum({1}d)")


def tumbling_joins(draw: Draw) -> tuple[str, int]:
    """A query that aggregates a join of rows in the same window, and of how many streams it is."""
    names = "abcd"[: draw.choose([2, 2, 3])]
    text, width = "a", draw.choose([2, 4, 6])
    for name in names[1:]:
        key = draw.choose("kkv")
        window = f" [RANGE TUMBLING {width} MICROSECONDS]" if name == names[-1] else ""
        also = draw.choose([*[""] * 4, f" AND a.v <= {name}.v"])
        text += f" JOIN {name}{window} ON a.{key} = {name}.{key}{also}"
    columns = (f"{n}.{c} AS {n}{c}" for n in names for c in ("k", "v", "d", "ts"))
    text = f"SELECT {', '.join(columns)} FROM {text}"
    one, timed = names[1:][draw.between(0, len(names) - 2)], draw.choose([*"aaa", names[-1]])
    other = draw.choose(names)
    found = several(draw, 1, 3, lambda draw: draw.choose(AGGREGATES).format(one, other))
    found += draw.choose([*[[]] * 6, [draw.choose(OTHERS).format(one, timed)]])
    groups = draw.choose([[], [f"{other}k"], [f"{one}k", f"{other}v"]])
    listed = [*groups, *(f"{each} AS r{n}" for n, each in enumerate(found))]
    range_, slide = draw.choose([width, 2 * width, 5]), draw.choose([width, 1, 5])
    window = f"[RANGE {range_} MICROSECONDS, SLIDE {slide} MICROSECONDS, WA {timed}ts]"
    by = f" GROUP BY {', '.join(groups)}" if groups else ""
    return f"SELECT {', '.join(listed)} FROM ({text}) {window}{by}", len(names)


def grouping_elsewhere_changes_no_answer(draw: Draw) -> None:
    """Queries are altered again and again, each when it likes."""
    text, count = tumbling_joins(draw)
    declared = any_streams(draw)[:count]
    events = skewed_arrivals(draw, declared, blocks=40)
    engine = started(declared, *how(draw, ["auto", "wid", "paned"]))
    queries = []
    for name in draw.choose([["q"], ["q"], ["q", "twin"]]):
        engine.sql(f"SET group_by = {draw.choose(['above', 'below'])}")
        queries.append(engine.sql(f"CREATE QUERY {name} AS {text}"))
    for event in events:
        feed(engine, [event])
        for each in queries:
            if draw.choose([True, False, False]):
                how_to = draw.choose(["auto", "ms", "ms", "pt", "pt_published"])
                above_or_below = draw.choose(["above", "below"])
                altered(engine, each.name, f"group_by = {above_or_below}, migration = {how_to}")
        if draw.choose([*[False] * 9, True]):
            restarted(engine)
    engine.finish()
    rows = pushed(declared, events)
    for each in queries:
        assert same_rows(rows_of(each.to_polars()), evaluate(each.plan, rows)), text
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"


def altered(engine: LocalEngine, query: str, options: str) -> None:
    """Alter a query, if it is not just changing."""
    try:
        engine.sql(f"ALTER QUERY {query} SET ({options})")
    except NotExecutable as refused:
        assert "is just changing" in str(refused), refused


#: Law -> how many seeds.
LAWS: dict[Law, int] = {grouping_elsewhere_changes_no_answer: 12}
(
    test_it_holds_over_many_seeds,
    test_it_holds_over_thousands_of_seeds,
    test_it_holds_for_hypothesis,
) = checks_of(LAWS, thousands=2000)


# --- one thing at a time ------------------------------------------------------------------------

TOTALS = (
    "SELECT ak, count(*) AS n, sum(bv) AS s FROM (SELECT a.k AS ak, a.ts AS t, b.v AS bv "
    "FROM a JOIN b [RANGE TUMBLING 10 SECONDS] ON a.k = b.k) [RANGE 10 SECONDS, WA t] GROUP BY ak"
)


TOTALS_OF_THREE = TOTALS.replace("FROM a JOIN b [", "FROM a JOIN c ON a.k = c.k JOIN b [")


def engine_with(group_by: str, query: str = TOTALS, streams: str = "ab") -> LocalEngine:
    engine = LocalEngine()
    for name in streams:
        engine.sql(f"CREATE STREAM {name} (k INT, v INT, ts TIMESTAMP) TIMESTAMP BY ts")
    engine.sql(f"SET group_by = {group_by}; CREATE QUERY q AS {query}")
    return engine


def push(engine: LocalEngine, *seconds: int) -> None:
    for second in seconds:
        for name in engine._host.inputs:
            push_ticks(engine, name, [{"k": 1, "v": second, "ts": second * 1_000_000}])


def stored(engine: LocalEngine) -> int:
    return sum(rows for name, _, rows, _ in engine.state() if "Join" in name)


def test_a_join_of_groups_stores_one_row_for_each() -> None:
    counts = []
    for group_by in ("above", "below"):
        engine = engine_with(group_by)
        for second in range(31):
            push_ticks(engine, "b", [{"k": 1, "v": second, "ts": second * 1_000_000}])
        counts.append(stored(engine))
        push_ticks(engine, "a", [{"k": 1, "v": 0, "ts": each * 1_000_000} for each in (0, 1, 25)])
        engine.finish()
        assert engine.query("q").results().select("n", "s").rows() == [(20, 90), (10, 245)]
    assert counts == [31, 3]  # of three windows that have ended


@pytest.mark.parametrize(("before", "after"), [("above", "below"), ("below", "above")])
def test_it_changes_with_the_first_window_that_has_no_old_rows(before: str, after: str) -> None:
    engine = engine_with(before)
    push(engine, *range(25))
    engine.sql(f"ALTER QUERY q SET (group_by = {after}, migration = pt)")
    assert "takes over from" in str(engine.sql("EXPLAIN q"))
    with pytest.raises(NotExecutable, match="is just changing"):
        engine.sql(f"ALTER QUERY q SET (group_by = {before})")
    push(engine, *range(25, 75))
    below = "sum(count(*))" in str(engine.sql("EXPLAIN q"))
    assert below is (after == "below") and "takes over" not in str(engine.sql("EXPLAIN q"))
    [migration] = engine.status().migrations
    assert migration.how == "handover" and migration.is_over
    assert ("sum(count(*))" in migration.after) is (after == "below")
    engine.finish()
    assert engine.query("q").results().get_column("n").to_list() == [100] * 7 + [25]


LONG = TOTALS.replace("[RANGE 10 SECONDS, WA t]", "[RANGE 60 SECONDS, SLIDE 10 SECONDS, WA t]")


@pytest.mark.parametrize(("before", "after"), [("above", "below"), ("below", "above")])
def test_as_published_windows_are_put_together_of_what_both_say(before: str, after: str) -> None:
    engine = engine_with(before, query=LONG)
    engine.sql("ALTER QUERY q SET (aggregation = wid)")
    push(engine, *range(75))
    engine.sql(f"ALTER QUERY q SET (group_by = {after}, migration = pt_published)")
    assert "SGB: puts windows together" in str(engine.sql("EXPLAIN q"))
    [migration] = [each for each in engine.status().migrations if each.how == "parallel track"]
    assert not migration.is_over
    with pytest.raises(NotExecutable, match="is just changing"):
        engine.sql(f"ALTER QUERY q SET (group_by = {before})")
    engine.sql(f"ALTER QUERY q SET (group_by = {after})")  # as it will be
    push(engine, *range(75, 170))
    explained = str(engine.sql("EXPLAIN q"))
    assert "SGB" not in explained and "Select" not in explained
    assert ("sum(count(*))" in explained) is (after == "below")
    [migration] = [each for each in engine.status().migrations if each.how == "parallel track"]
    assert migration.is_over
    engine.sql(f"ALTER QUERY q SET (group_by = {before}, migration = pt)")
    push(engine, *range(170, 200))
    engine.finish()
    counts = engine.query("q").results().get_column("n").to_list()
    assert counts == [100 * n for n in (1, 2, 3, 4, 5, *[6] * 15, 5, 4, 3, 2, 1)]


def test_one_that_another_query_has_begun_later_does_not_stand_in_for_it() -> None:
    engine = engine_with("above", query=LONG)
    engine.sql(f"CREATE QUERY twin AS {LONG}")
    for name in ("q", "twin"):
        engine.sql(f"ALTER QUERY {name} SET (aggregation = wid)")
    push(engine, *range(75))
    engine.sql("ALTER QUERY q SET (group_by = below, migration = pt_published)")
    push(engine, *range(75, 100))
    engine.sql("ALTER QUERY twin SET (group_by = below, migration = pt)")
    push(engine, *range(100, 250))
    assert "SGB" not in str(engine.sql("EXPLAIN q"))
    engine.finish()
    counts = [100 * n for n in (1, 2, 3, 4, 5, *[6] * 20, 5, 4, 3, 2, 1)]
    for name in ("q", "twin"):
        assert engine.query(name).results().get_column("n").to_list() == counts, name


def test_several_aggregates_of_one_query_are_put_together_at_once() -> None:
    others = LONG.replace("60", "30").replace("FROM a JOIN b [", "FROM c AS a JOIN d AS b [")
    engine = engine_with("above", query=f"{LONG} UNION ALL {others}", streams="abcd")
    engine.sql("ALTER QUERY q SET (aggregation = wid)")
    push(engine, *range(75))
    engine.sql("ALTER QUERY q SET (group_by = below, migration = pt_published)")
    assert str(engine.sql("EXPLAIN q")).count("SGB: ") == 2
    push(engine, *range(75, 200))
    assert "SGB" not in str(engine.sql("EXPLAIN q"))
    engine.finish()
    counts = engine.query("q").results().get_column("n").to_list()
    long = [100 * n for n in (1, 2, 3, 4, 5, *[6] * 15, 5, 4, 3, 2, 1)]
    assert sorted(counts) == sorted(long + [100 * n for n in (1, 2, *[3] * 18, 2, 1)])


@pytest.mark.parametrize("how_to", ["pt", "pt_published"])
def test_rows_that_wait_for_partners_under_another_time_are_not_lost(how_to: str) -> None:
    engine = engine_with("above")
    engine.sql("CREATE VIEW later AS SELECT k, v, ts + INTERVAL 1 HOUR AS ts FROM b")
    moved = TOTALS.replace("JOIN b [", "JOIN later AS b [")
    engine.sql(f"SET aggregation = wid; CREATE QUERY other AS {moved}")
    hour = 3_600_000_000
    push_ticks(engine, "b", [{"k": 1, "v": each, "ts": each * 1_000_000} for each in range(25)])
    push_ticks(engine, "a", [{"k": 1, "v": 0, "ts": hour - 1_000_000}])
    engine.sql(f"ALTER QUERY other SET (group_by = below, migration = {how_to})")
    push_ticks(engine, "a", [{"k": 1, "v": 0, "ts": hour + each * 1_000_000} for each in range(25)])
    engine.finish()
    assert engine.query("other").results().get_column("n").to_list() == [100, 100, 25]


@pytest.mark.parametrize("how_to", ["auto", "ms"])
def test_what_goes_below_changes_at_once(how_to: str) -> None:
    engine = engine_with("above")
    push(engine, *range(25))
    engine.sql(f"ALTER QUERY q SET (group_by = below, migration = {how_to})")
    explained = str(engine.sql("EXPLAIN q"))
    assert "sum(count(*))" in explained and "takes over" not in explained
    [migration] = engine.status().migrations
    assert migration.how == "moving state" and migration.is_over
    # Five rows of `a` and the partials, in two segments, move; five rows of `b` become one group.
    assert (migration.moved, migration.recomputed) == (7, 1)
    assert "sum(count(*))" in migration.after
    push(engine, *range(25, 35))
    engine.finish()
    assert engine.query("q").results().get_column("n").to_list() == [100] * 3 + [25]


def test_stored_rows_meet_what_lags_behind() -> None:
    engine = engine_with("above")
    for second in (1, 2, 11):
        push_ticks(engine, "b", [{"k": 1, "v": second, "ts": second * 1_000_000}])
    push_ticks(engine, "a", [{"k": 1, "v": 0, "ts": 1_000_000}])  # has met two of `b`
    engine.sql("ALTER QUERY q SET (group_by = below, migration = ms)")
    push_ticks(engine, "a", [{"k": 1, "v": 0, "ts": 3_000_000}, {"k": 1, "v": 0, "ts": 12_000_000}])
    push_ticks(engine, "b", [{"k": 1, "v": None, "ts": 13_000_000}])
    engine.finish()
    assert engine.query("q").results().select("n", "s").rows() == [(4, 6), (2, 11)]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("above", "rows of groups that are aggregated below joins are not known any more"),
        ("below", "partials move only from WidAggregate to WidAggregate"),
        ("twin", "WidAggregate runs already, with another past"),
    ],
)
def test_what_cannot_move_hands_over_and_says_why(change: str, why: str) -> None:
    engine = engine_with("below" if change == "above" else "above")
    if change == "below":
        engine.sql("ALTER QUERY q SET (aggregation = paned)")
    if change == "twin":
        engine.sql(f"SET group_by = below; CREATE QUERY twin AS {TOTALS}")
    push(engine, *range(25))
    to = "above" if change == "above" else "below"
    engine.sql(f"ALTER QUERY q SET (group_by = {to}, migration = ms)")
    assert why in str(engine.sql("EXPLAIN q"))
    [migration] = [each for each in engine.status().migrations if why in each.reason]
    assert migration.how == "handover"
    push(engine, *range(25, 60))
    engine.finish()
    assert engine.query("q").results().get_column("n").to_list() == [100] * 6


def test_sums_of_decimals_that_are_kept_in_more_pieces_hand_over() -> None:
    engine = LocalEngine()
    for name in "ab":
        columns = "k INT, v DECIMAL(30, 2), ts TIMESTAMP"
        engine.sql(f"CREATE STREAM {name} ({columns}) TIMESTAMP BY ts")
    engine.sql(f"SET group_by = above; CREATE QUERY q AS {TOTALS}")
    push(engine, *range(25))
    engine.sql("ALTER QUERY q SET (group_by = below, migration = ms)")
    [migration] = engine.status().migrations
    assert migration.how == "handover"
    assert "kept in another form" in migration.reason
    push(engine, *range(25, 50))
    engine.finish()
    sums = [sum(range(10 * n, 10 * n + 10)) * 10 for n in range(5)]
    assert engine.query("q").results().get_column("s").to_list() == sums


def test_of_two_aggregates_that_go_below_the_same_joins_none_loses_rows() -> None:
    """The first, by panes, cannot move, so the joins begin empty; the second finds them there."""
    joined = TOTALS.partition("FROM (")[2].partition(") [RANGE")[0]
    sliding = f"({joined}) [RANGE 40 SECONDS, SLIDE 10 SECONDS, WA t]"
    paned = f"SELECT ak, count(*) AS n, sum(bv) AS s FROM {sliding} GROUP BY ak"
    engine = engine_with("above", query=f"{paned} UNION ALL {TOTALS}")
    push(engine, *range(125))
    engine.sql("ALTER QUERY q SET (group_by = below, migration = ms)")
    push(engine, *range(125, 200))
    engine.finish()
    counts = engine.query("q").results().get_column("n").to_list()
    sliding_counts = [100, 200, 300] + [400] * 17 + [300, 200, 100]
    assert sorted(counts) == sorted([100] * 20 + sliding_counts)


def test_it_waits_for_joins_that_just_change() -> None:
    engine = engine_with("above", streams="abc", query=TOTALS_OF_THREE)
    push(engine, *range(25))
    engine.sql("ALTER QUERY q SET (join = mjoin, migration = pt)")
    with pytest.raises(NotExecutable, match="is just changing: MJoin takes over from OAJoin"):
        engine.sql("ALTER QUERY q SET (group_by = below)")
    push(engine, *range(25, 40))
    engine.sql("ALTER QUERY q SET (group_by = below, migration = ms)")
    [_, migration] = engine.status().migrations
    assert migration.how == "moving state"
    push(engine, *range(40, 50))
    engine.finish()
    assert engine.query("q").results().get_column("n").to_list() == [1000] * 5


@pytest.mark.parametrize(
    "query",
    [
        TOTALS.replace("sum(bv)", "avg(bv)"),
        TOTALS.replace("b.v AS bv", "b.v + a.v AS bv"),
        TOTALS.replace("WA t", "WA u").replace("b.v AS bv", "b.v AS bv, b.ts AS u"),
        TOTALS.replace(
            "JOIN b [RANGE TUMBLING 10 SECONDS] ON a.k = b.k", "JOIN b ON a.k = b.k WITHIN 1 SECOND"
        ),
    ],
)
def test_what_parts_do_not_tell_is_aggregated_above(query: str) -> None:
    engine = engine_with("below", query)
    assert str(engine.sql("EXPLAIN q")).count("WindowAggregate") == 1
