"""Windows are computed in another way while queries run, and nobody can tell by the answers.

What each test can catch: windows answered twice, not at all or from a part of their rows, state of
other operators lost or mixed up, results too late (the laws, where every look is a change); loads
that are counted wrongly, and choices that do not follow them (the others).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import inf
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.aggregation.driver import IdDriver
from penstock.local.engine import LocalEngine
from penstock.optimizer import rechoose
from penstock.optimizer.cost.aggregation import Load
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import PhysicalPlan, from_json, to_json
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.runtime import rechoosing
from penstock.spark.exchange.preaggregation import Preaggregation
from penstock.spark.in_memory.micro_batches import Exchange, FakePipeline, MicroBatch, Worker
from penstock.spark.placement.pipeline_groups import assign_pipelines
from tests.engine.draw import Draw, Drawn, check_seeds, examples, several
from tests.engine.random_queries import nested_queries, window_queries
from tests.engine.random_streams import UNITS, arrivals, bounds_of, declarations, pushed
from tests.engine.running import assert_right, feed, how, rows_of, started
from tests.runtime.restless import changing_all_the_time
from tests.spark.group_pipelines import assert_answers, assert_kept_well, plans_of, run
from tests.spark.random_batches import as_numbered, micro_batches
from tests.ticks import push_ticks

AUTO = ("auto",)


@pytest.fixture
def restless() -> Iterator[None]:
    with changing_all_the_time():
        yield


def answers_stay_right_while_operators_change(draw: Draw) -> None:
    declared = declarations(draw)
    unit = UNITS[declared[0].time]
    kinds = (window_queries, window_queries, nested_queries)
    texts = several(draw, 1, 3, lambda draw: draw.choose(kinds)(draw, unit))
    events = arrivals(draw, declared, blocks=12)
    engine = started(declared, *how(draw, AUTO))
    queries = [engine.sql(text) for text in [*texts, texts[0]]]
    feed(engine, events)
    engine.finish()
    for text, query in zip([*texts, texts[0]], queries, strict=True):
        assert_right(query, pushed(declared, events), text)
    assert [rows for *_, rows, _ in engine.state() if rows] == []


def windows_come_as_soon_as_they_did(draw: Draw) -> None:
    declared = declarations(draw)[:1]
    unit = UNITS[declared[0].time]
    window = f"[RANGE {draw.between(2, 9)}{unit}, SLIDE {draw.between(1, 3)}{unit}, WA ts]"
    engine = started(declared, *how(draw, AUTO))
    query = engine.sql(f"SELECT k, count(*) AS n, max(v) AS m FROM a {window} GROUP BY k")
    events = arrivals(draw, declared, blocks=12)
    for happened, event in enumerate(events, start=1):
        feed(engine, [event])
        [low] = bounds_of(declared, events[:happened]).values()
        answer = evaluate(query.plan, pushed(declared, events[:happened]))
        over = [row for row in answer if row["window_end"] <= low]
        assert same_rows(rows_of(query.to_polars()), over), (query.explain(), event, low)


each_law = pytest.mark.parametrize(
    "law",
    [answers_stay_right_while_operators_change, windows_come_as_soon_as_they_did],
)


@each_law
def test_it_holds_over_many_seeds(law, restless):
    check_seeds(14, law)


@pytest.mark.slow
@each_law
def test_it_holds_over_thousands_of_seeds(law, restless):
    check_seeds(2000, law)


@examples(15)
@given(st.data(), st.integers(1, 3))
def test_groups_change_by_themselves_over_restarts_and_failed_attempts(data, groups):
    draw = Drawn(data)
    declared = declarations(draw)
    unit = UNITS[declared[0].time]
    kinds = (window_queries, nested_queries)
    texts = several(draw, 1, 2, lambda draw: draw.choose(kinds)(draw, unit))
    batches = data.draw(micro_batches(arrivals(draw, declared, blocks=12)))
    with changing_all_the_time():
        for share in assign_pipelines(plans_of(declared, texts)):
            pipeline = run(data, share, groups, batches, "meld", aggregations=[Options()])
            streams = pipeline.exchange.program.streams
            rows = {s.name: [batch.arrived(s.name) for batch in batches] for s in streams}
            assert_answers(pipeline, share, as_numbered(streams, rows))
            assert_kept_well(pipeline)


# --- what is chosen ------------------------------------------------------------------------------


def names(plan: PhysicalPlan) -> list[str]:
    return [each.spec.name for each in plan.walk()]


def engine_over(groups: int, window: str, call: str, seconds: int) -> tuple[LocalEngine, list[str]]:
    """A query over 1,000 rows a second, a block a second; what came to compute it, in turn."""
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP) TIMESTAMP BY ts")
    engine.sql(f"CREATE QUERY q AS SELECT k, {call} AS x FROM s {window} GROUP BY k")
    draw, by = np.random.default_rng(1), [names(engine._plans["q"])[-1]]
    for second in range(seconds):
        block = {
            "k": draw.integers(0, groups, 1000),
            "v": draw.integers(0, 1000, 1000),
            "ts": second * 1_000_000 + np.arange(1000) * 1000,
        }
        push_ticks(engine, "s", pl.DataFrame(block))
        now = names(engine._plans["q"])[-1]
        by += [now] * (now != by[-1])
    return engine, by


def load_of(engine: LocalEngine) -> Load | None:
    [plan] = rechoose.aggregates({"q": engine._plans["q"]})
    operator = engine._host.graph.nodes[plan.id].operator
    assert isinstance(operator, IdDriver)
    return rechoosing.seen_by(operator)


def test_a_query_is_computed_as_its_rows_want_it_and_explain_shows_the_numbers() -> None:
    # When it is declared, nothing is known of how many groups there are.
    window = "[RANGE 10 SECONDS, SLIDE 100 MILLISECONDS]"
    _, by = engine_over(1000, window, "sum(v)", 40)
    assert by == ["WidAggregate"]
    engine, by = engine_over(100, window, "sum(v)", 60)
    assert by == ["WidAggregate", "Handover", "PanedWid"]
    seen = r"seen: [\d.]+ rows per slide in blocks of 1,000, [\d.]+ groups"
    assert re.search(seen, str(engine.sql("EXPLAIN q")))


def test_what_is_seen_is_what_there_is() -> None:
    with patch.object(rechoosing, "WINDOWS", 1000):
        engine, _ = engine_over(100, "[RANGE 10 SECONDS, SLIDE 1 SECOND]", "max(v)", 30)
    load = load_of(engine)
    assert load is not None
    assert load.rows_per_slide == pytest.approx(1000, rel=0.1)
    assert load.rows_per_block == pytest.approx(1000)
    assert load.groups == pytest.approx(100, rel=0.05)


def test_what_was_asked_for_is_never_changed(restless: None) -> None:
    for aggregation, name in (("wid", "WidAggregate"), ("paned", "PanedWid")):
        engine = LocalEngine()
        engine.sql(f"SET aggregation = {aggregation}")
        engine.sql("CREATE STREAM s (v BIGINT, ts TIMESTAMP) TIMESTAMP BY ts")
        engine.sql("CREATE QUERY q AS SELECT max(v) AS m FROM s [RANGE 4 SECONDS, SLIDE 1 SECOND]")
        for second in range(30):
            push_ticks(engine, "s", [{"v": second, "ts": second * 1_000_000}])
            assert names(engine._plans["q"])[-1] == name


def test_a_query_that_shares_an_aggregate_and_names_its_algorithm_keeps_it() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (v BIGINT, ts TIMESTAMP) TIMESTAMP BY ts")
    query = engine.sql("SELECT max(v) AS m FROM s [RANGE 4 SECONDS, SLIDE 1 SECOND]")
    named = optimize({"q": query.plan}, Options(aggregation="wid")).plans["q"]
    plans = {"named": named, "chosen": replace(named, cost=1.0)}
    [now] = rechoose.aggregates(plans)
    with patch.object(rechoose, "PAYS", 0):
        then = rechoose.other_way(plans, now, Load(), engine._statistics.costs)
    assert then is not None
    change = rechoose.begin(plans, now, then, 7)
    assert change.plans["named"] is named
    assert names(change.plans["chosen"])[-1] == "Handover"


@pytest.mark.parametrize("aggregated", [False, True])
def test_what_gets_its_rows_aggregated_stays_as_it_is(aggregated: bool) -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (v BIGINT, ts BIGINT) TIMESTAMP BY ts")
    query = engine.sql("SELECT max(v) AS m FROM s [RANGE 4, SLIDE 1]")
    [group] = assign_pipelines({"q": query.plan})
    pipeline = FakePipeline(Exchange(optimize(group.queries), group.keys, (0,)))
    worker, early = Worker(None), pipeline.exchange.early
    with (
        changing_all_the_time(),
        patch.object(rechoosing, "WINDOWS", 12),
        patch.object(rechoosing, "ABSORBED", 1.0 if aggregated else inf),
    ):
        for time in range(0, 60, 6):
            # Of the first rows, too few for the exchange, the aggregate reads every one itself.
            pipeline.exchange.early = early if time else {"s": Preaggregation()}
            rows = [{"v": 1, "ts": time + n} for n in range(6)]
            pipeline.process(MicroBatch({"s": [[rows]]}), lambda group: worker)
    reports = [outputs[0].report() for outputs in pipeline.outputs]
    assert any(report.changed for report in reports) is not aggregated


def test_a_plan_in_change_goes_to_json_and_back() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (v BIGINT, ts TIMESTAMP) TIMESTAMP BY ts")
    text = "SELECT m + 1 AS n FROM (SELECT max(v) AS m FROM s [RANGE 4 SECONDS, SLIDE 1 SECOND])"
    plans = optimize({"q": engine.sql(text).plan}).plans
    [now] = rechoose.aggregates(plans)
    with patch.object(rechoose, "PAYS", 0):
        then = rechoose.other_way(plans, now, Load(), engine._statistics.costs)
    assert then is not None
    change = rechoose.begin(plans, now, then, 7)
    assert from_json(to_json(change.plans)) == change.plans
    assert change.renamed == {plans["q"].id: change.plans["q"].id}
    ended = rechoose.end(change.plans, lambda plan: True)
    assert ended is not None
    assert names(ended.plans["q"])[-2:] == [then.spec.name, "Project"]
