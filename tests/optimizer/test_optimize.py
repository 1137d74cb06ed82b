"""What runs gets its operators, once; the rest is refused before anything changes."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.catalog.settings import SETTINGS
from penstock.errors import NotExecutable
from penstock.local.engine import LocalEngine
from penstock.model.types import Type
from penstock.optimizer.joins.tactic import MJOIN
from penstock.optimizer.lower_join import TACTICS
from penstock.optimizer.optimize import choose, optimize
from penstock.optimizer.options import Options
from penstock.optimizer.rules.adapt_union_inputs import adapt
from penstock.plan.nodes import Project, Union
from tests.optimizer.plans import STREAMS, Built, plan
from tests.ticks import push_ticks

# --- what has no operator -----------------------------------------------------------------------

#: With `SET union = merge`: a stream in disorder cannot be merged.
REFUSED = {
    "SELECT k, v FROM (SELECT k, v, ts FROM a UNION ALL SELECT k, v, ts FROM slack)": "this union",
}


@pytest.mark.parametrize("text", REFUSED, ids=REFUSED.values())
def test_what_has_no_operator_is_refused_by_name_with_its_statement_underlined(text: str) -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    engine.sql("SET union = merge")
    with pytest.raises(NotExecutable) as refused:
        engine.sql(f"SET strategy = bfs; CREATE QUERY q AS {text}; SET strategy = dfs")
    assert REFUSED[text] in refused.value.message
    assert refused.value.hint
    place = refused.value.position
    assert place is not None
    assert place.text[place.start : place.end] == f"CREATE QUERY q AS {text}"


@pytest.mark.parametrize("text", REFUSED, ids=REFUSED.values())
def test_a_refusal_changes_nothing(text: str) -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    engine.sql("SET union = merge")
    standing = engine.sql("CREATE QUERY q AS SELECT k, v FROM a WHERE v > 0")
    running = engine.state()
    for refused in (text, f"CREATE OR REPLACE QUERY q AS {text}", f"CREATE QUERY p AS {text}"):
        with pytest.raises(NotExecutable):
            engine.sql(refused)
    assert [query.name for query in engine.queries] == ["q"]
    assert [entry.name for entry in engine.catalog.queries] == ["q"]
    assert engine.state() == running
    assert standing.status.state == "running"
    push_ticks(engine, "a", [{"k": "x", "v": 1, "ts": 5}])
    assert standing.results().to_dicts() == [{"k": "x", "v": 1}]
    # The name that was refused is still free.
    assert engine.sql("CREATE QUERY p AS SELECT v FROM b").status.state == "running"


@pytest.mark.parametrize("text", REFUSED, ids=REFUSED.values())
def test_what_cannot_run_can_be_explained(text: str) -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    engine.sql("SET union = merge")
    assert "cannot merge this union" in engine.sql(f"EXPLAIN {text}")


def test_a_part_that_cannot_run_makes_the_whole_plan_unexecutable() -> None:
    [inner] = REFUSED
    with pytest.raises(NotExecutable, match="cannot merge"):
        optimize({"q": plan(f"SELECT v FROM ({inner}) WHERE v > 1")}, Options(union="merge"))


# --- the choice ---------------------------------------------------------------------------------


def chosen(text: str, **options: Any) -> tuple[str, ...]:
    return choose(plan(text), Options(**options)).names


KINDS = {
    "[RANGE 9 ROWS, SLIDE 3 ROWS, PA k]": ("PartitionedAggregate",),
    "[RANGE ALL, SLIDE 1 MINUTE, WA ts]": ("Bucket", "LandmarkAggregate"),
    "[RANGE 5 MINUTES, RATTR ts, SLIDE 1 ROW, SATTR row-num]": ("Bucket", "BinsAggregate"),
    "[RANGE 1 MINUTE, RATTR ts, SLIDE 5 ROWS, SATTR row-num]": ("Bucket", "BinsAggregate"),
    "[RANGE 5 MINUTES, RATTR ts, SLIDE 5 ROWS, SATTR rank(ts)]": ("Bucket", "BinsAggregate"),
}


def test_each_node_has_its_operators_and_a_reason() -> None:
    assert chosen("SELECT v + 1 AS v FROM a") == ("Project",)
    assert chosen("SELECT * FROM (SELECT k, v FROM a) WHERE v > 1") == ("Select",)
    assert chosen("SELECT count(*) FROM a [RANGE 1 MINUTE]") == ("Bucket", "WidAggregate")
    for window, operators in KINDS.items():
        assert chosen(f"SELECT k, count(*) {window} FROM a GROUP BY k") == operators
    assert choose(plan("SELECT count(*) FROM a [RANGE 1 MINUTE]"), Options()).reason


WINDOWS_OF_PANES = {
    "SELECT sum(v) FROM a [RANGE 1 MINUTE, SLIDE 1 SECOND]": ("Bucket", "WidAggregate"),
    "SELECT k, sum(v) FROM a [RANGE 2 MINUTES, SLIDE 1 MINUTE] GROUP BY k": (
        "PaneStore",
        "PanedWid",
    ),
    "SELECT median(v) FROM a [RANGE 10 MINUTES, SLIDE 1 SECOND]": ("PaneStore", "PanedWid"),
    "SELECT k, stddev(v) FROM a [RANGE 10 MINUTES, SLIDE 1 SECOND] GROUP BY k": (
        "Bucket",
        "WidAggregate",
    ),
    "SELECT sum(v) FROM a [RANGE 1 MINUTE]": ("Bucket", "WidAggregate"),
    "SELECT sum(v) FROM a [RANGE 1 SECOND, SLIDE 1 MINUTE]": ("Bucket", "WidAggregate"),
}


def test_panes_are_chosen_where_windows_share_them_and_few_have_to_be_merged() -> None:
    for text, operators in WINDOWS_OF_PANES.items():
        assert chosen(text) == operators, text


def test_a_setting_decides_how_sliding_windows_are_computed() -> None:
    sliding = "SELECT sum(v) FROM a [RANGE 1 MINUTE, SLIDE 1 SECOND]"
    assert chosen(sliding, aggregation="wid") == ("Bucket", "WidAggregate")
    tumbling = "SELECT sum(v) FROM a [RANGE 1 MINUTE]"
    assert chosen(tumbling, aggregation="paned") == ("PaneStore", "PanedWid")


def test_windows_of_several_queries_share_one_store_of_panes() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    for range_, slide in ((6, 2), (10, 4), (8, 8), (60, 20)):
        engine.sql(
            f"SET aggregation = paned; SELECT k, count(*) AS n, sum(v) AS s FROM a "
            f"[RANGE {range_} SECONDS, SLIDE {slide} SECONDS] GROUP BY k"
        )
    push_ticks(engine, "a", [{"k": "x", "v": 1, "ts": 5}])
    stores = {node for node, *_ in engine.state() if node.startswith("PaneStore-")}
    assert len(stores) == 1
    engine.sql("SELECT k, count(*) AS n FROM a [RANGE 3 SECONDS, SLIDE 1 SECOND] GROUP BY k")
    both = {node for node, *_ in engine.state() if node.startswith("PaneStore-")}
    assert stores < both, "its panes are shorter"
    assert len(both) == 2


def test_queries_that_are_declared_together_get_panes_that_suit_them_all() -> None:
    built = Built()
    built.all(
        *(
            f"SELECT count(*) AS n, {call} AS x FROM a [RANGE {r} SECONDS, SLIDE {s} SECONDS]"
            for call, r, s in (("sum(v)", 6, 2), ("max(v)", 9, 3), ("avg(v)", 10, 5))
        )
    )
    assert built.operators == ["Fork", "PaneStore", *["PanedWid"] * 3]


UNION = "SELECT k, v, ts FROM a UNION ALL SELECT k, v, ts FROM {}"


def test_a_union_melds_unless_order_is_asked_for() -> None:
    assert chosen(UNION.format("b")) == ("Meld",)
    assert chosen(UNION.format("slack")) == ("Meld",)
    assert chosen(UNION.format("b"), union="merge") == ("Merge",)


@pytest.mark.parametrize("other", ["slack", "latent"])
def test_merge_is_refused_where_an_input_is_not_ordered(other: str) -> None:
    with pytest.raises(NotExecutable, match="cannot merge") as refused:
        chosen(UNION.format(other), union="merge")
    assert "ORDERED" in str(refused.value.hint)
    assert "SET union = meld" in str(refused.value.hint)


def test_the_engine_merges_only_what_is_declared_while_the_setting_holds() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    melded = engine.sql("CREATE QUERY melded AS SELECT v, ts FROM a UNION b")
    engine.sql("SET union = merge")
    merged = engine.sql("CREATE QUERY merged AS SELECT v, ts FROM a UNION b")
    with pytest.raises(NotExecutable, match="cannot merge"):
        engine.sql("CREATE QUERY refused AS SELECT v, ts FROM a UNION slack")
    push_ticks(engine, "a", [{"k": "x", "v": 1, "ts": 5}])
    push_ticks(engine, "b", [{"k": "x", "v": 2, "ts": 3}])
    # Meld lets rows pass as they come; Merge waits until b has reached 5.
    assert melded.results().get_column("v").to_list() == [1, 2]
    assert merged.results().get_column("v").to_list() == [2]
    engine.finish()
    assert merged.results().get_column("v").to_list() == [2, 1]


# --- order --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "on"),
    [
        ("SELECT * FROM a", "ts"),
        ("SELECT k, v, ts FROM a WHERE v > 0", "ts"),
        ("SELECT ts AS time, v FROM a", "time"),
        ("SELECT v, ts FROM arriving", "ts"),
        ("SELECT v, ts FROM slack", None),
        ("SELECT v, ts FROM latent", None),
        ("SELECT k, v FROM a", None),
        ("SELECT v, ts + INTERVAL 1 SECOND AS ts FROM a", "ts"),
        ("SELECT v, date_trunc('hour', ts) AS h, ts FROM a", "ts"),
        ("SELECT v, hour(ts) AS ts FROM a", None),
        ("SELECT k, v, ts FROM a UNION ALL SELECT name, number, seen FROM renamed", "ts"),
        ("SELECT v, ts FROM a UNION ALL SELECT v, ts FROM slack", None),
        ("SELECT ts AS t, ts FROM a UNION ALL SELECT ts, ts AS t FROM b", "t"),
        ("SELECT count(*) FROM a [RANGE 1 MINUTE]", None),
    ],
)
def test_order_is_known_as_far_as_columns_are_passed_on(text: str, on: str | None) -> None:
    assert plan(text).order == frozenset(() if on is None else (on,))


def test_a_union_is_not_merged_by_a_time_that_rows_without_a_partner_lack() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM a (k INT, ts TIMESTAMP) TIMESTAMP BY ts; SET mode = iop")
    union = (
        "SELECT l.ts AS t FROM a AS l {} JOIN a AS r ON l.k = r.k WITHIN 1 SECOND "
        "UNION ALL SELECT ts FROM a"
    )
    engine.sql(union.format("LEFT"))
    with pytest.raises(NotExecutable, match="cannot merge this union by `t`"):
        engine.sql(union.format("RIGHT"))


def test_inputs_ordered_by_columns_in_different_places_have_no_common_order() -> None:
    mixed = plan(
        "SELECT ts AS x, make AS y FROM (SELECT ts, TIMESTAMP '2026-01-01 00:00:00' "
        "AS make FROM a) UNION ALL SELECT TIMESTAMP '2026-01-01 00:00:00', ts FROM b"
    )
    assert mixed.order == frozenset()


# --- unions of different shapes -----------------------------------------------------------------


def test_an_input_with_the_unions_columns_stays_as_it_is() -> None:
    union = plan(UNION.format("b"))
    assert isinstance(union, Union)
    assert [adapt(part, union) for part in union.parts] == list(union.parts)


def test_other_inputs_get_the_unions_names_and_types() -> None:
    union = plan(
        "SELECT k, v, ts FROM a UNION ALL SELECT k, v, ts FROM wide "
        "UNION ALL SELECT name, number, seen FROM renamed"
    )
    assert isinstance(union, Union)
    assert union.schema["v"].type is Type.DOUBLE
    for part in union.parts:
        adapted = adapt(part, union)
        assert adapted.schema.columns == union.schema.columns
        assert "ts" in adapted.schema.progressing
    assert [isinstance(adapt(part, union), Project) for part in union.parts] == [True] * 3
    assert adapt(union.parts[1], union) == union.parts[1]


# --- sharing ------------------------------------------------------------------------------------


COUNT = "SELECT k, count(*) AS n FROM a [RANGE 1 MINUTE] WHERE v > 0 GROUP BY k"


def test_equal_plans_are_built_once() -> None:
    built = Built()
    assert built.one(COUNT) is built.one(COUNT)
    assert built.operators == ["Bucket", "Select", "WidAggregate"]


def test_what_two_plans_have_in_common_is_built_once() -> None:
    built = Built()
    built.one(COUNT)
    built.one("SELECT k, sum(v) AS s FROM a [RANGE 1 MINUTE] WHERE v > 0 GROUP BY k")
    assert built.operators == ["Bucket", "Fork", "Select", "WidAggregate", "WidAggregate"]


def test_the_same_union_melded_and_merged_is_two() -> None:
    built = Built()
    text = UNION.format("b")
    assert built.one(text) is not built.one(text, union="merge")
    assert [name for name in built.operators if name.startswith("M")] == ["Meld", "Merge"]


def test_a_stream_twice_in_a_union_is_read_twice() -> None:
    built = Built()
    node = built.one("SELECT k, v, ts FROM a UNION ALL SELECT k, v, ts FROM a")
    assert len(node.inputs) == 2


def test_what_was_removed_is_built_anew() -> None:
    built = Built()
    first = built.one(COUNT)
    built.graph.add_sink("q", first)
    built.graph.remove_sink("q")
    assert built.operators == []
    second = built.one(COUNT)
    assert second is not first
    assert built.operators == ["Bucket", "Select", "WidAggregate"]


def test_dropping_a_query_removes_only_what_nobody_else_uses() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    names = {name for name, *_ in engine.state()}
    kept = engine.sql("CREATE QUERY kept AS SELECT k, v FROM a WHERE v > 0")
    engine.sql(f"CREATE QUERY dropped AS {COUNT}")
    engine.sql("CREATE QUERY also AS SELECT v FROM b")
    assert len({name for name, *_ in engine.state()}) > len(names)
    engine.sql("DROP QUERY dropped")
    assert [query.name for query in engine.queries] == ["kept", "also"]
    assert [name for name, *_ in engine.state() if "Wid" in name or "Bucket" in name] == []
    push_ticks(engine, "a", [{"k": "x", "v": 1, "ts": 5}, {"k": "x", "v": 0, "ts": 6}])
    assert kept.results().get_column("v").to_list() == [1]


@pytest.mark.parametrize(
    ("join", "operator"),
    [
        ("auto", "OAJoin"),
        ("oa", "OAJoin"),
        ("sync_filter", "SyncFilter"),
        ("filter_order", "FilterOrder"),
        ("adaptive", "AdaptiveOrder"),
        ("tsm", "TSMJoin"),
        ("opob", "OPOBJoin"),
        ("opib", "OPIBJoin"),
        ("mjoin", "OAJoin"),  # of two inputs it is one
    ],
)
def test_a_join_is_computed_as_the_setting_says(join: str, operator: str) -> None:
    joined = plan("SELECT a.k FROM a JOIN b ON a.k = b.k WITHIN 1 MINUTE")
    [below] = joined.children
    assert choose(below, Options(join=join)).names == (operator,)


def test_every_tactic_can_be_set_and_nothing_else() -> None:
    assert {*SETTINGS["join"].words} == {*TACTICS, MJOIN}


@pytest.mark.parametrize("join", ["sync_filter", "filter_order", "adaptive"])
def test_joins_in_order_need_inputs_in_order(join: str) -> None:
    loose = plan("SELECT a.k FROM a JOIN slack ON a.k = slack.k WITHIN 1 MINUTE")
    with pytest.raises(NotExecutable, match="ordered by their time"):
        optimize({"q": loose}, Options(join=join))
    sorted_first = plan(
        "SELECT a.k FROM a JOIN (SELECT k, ts FROM slack ORDER BY ts) AS s ON a.k = s.k "
        "WITHIN 1 MINUTE"
    )
    optimize({"q": sorted_first}, Options(join=join))


def test_other_algorithms_find_pairs_only() -> None:
    outer = plan("SELECT a.k FROM a LEFT JOIN b ON a.k = b.k WITHIN 1 MINUTE")
    with pytest.raises(NotExecutable, match="only does inner joins"):
        optimize({"q": outer}, Options(join="opob"))


@pytest.mark.parametrize(
    ("window", "shown"), [("RANGE 5 ROWS, SLIDE 2 ROWS", True), ("RANGE 5 ROWS", False)]
)
def test_what_is_explained_is_all_that_runs(window: str, shown: bool) -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    text = f"SELECT sum(v) AS v FROM slack [{window}]"
    assert ("> UpToLastRow:" in engine.sql(f"EXPLAIN {text}")) is shown
    built = Built()
    built.one(text)
    assert ("UpToLastRow" in built.operators) is shown
