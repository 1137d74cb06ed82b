"""Pruned plans give the same answers, and joins get no more than somebody reads."""

from __future__ import annotations

import random

import pytest

from penstock.local.engine import LocalEngine
from penstock.optimizer.options import Options
from penstock.optimizer.rules.prune import prune
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan import nodes
from penstock.plan.graph import walk

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, v BIGINT, w BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;"
    for name in "abc"
)
QUERIES = {
    "pairs": "SELECT a.v AS v FROM a JOIN b ON a.k = b.k AND "
    "b.ts BETWEEN a.ts - INTERVAL 3 SECONDS AND a.ts + INTERVAL 3 SECONDS",
    "other": "SELECT b.w AS w FROM a JOIN b ON a.k = b.k AND "
    "b.ts BETWEEN a.ts - INTERVAL 3 SECONDS AND a.ts + INTERVAL 3 SECONDS",
    "residual": "SELECT a.ts AS ts FROM a LEFT JOIN b ON a.k = b.k AND a.v < b.w AND "
    "b.ts BETWEEN a.ts - INTERVAL 3 SECONDS AND a.ts + INTERVAL 3 SECONDS WHERE a.w > 1",
    "partly": "SELECT x FROM (SELECT a.k AS x, b.w AS y FROM a JOIN b ON a.k = b.k AND "
    "b.ts BETWEEN a.ts - INTERVAL 3 SECONDS AND a.ts + INTERVAL 3 SECONDS) WHERE x > 0",
    "both": "SELECT k, sum(v) [RANGE 4 SECONDS, SLIDE 4 SECONDS, WA ts] AS n "
    "FROM (SELECT * FROM a UNION ALL SELECT * FROM b) GROUP BY k",
    "counted": "SELECT count(*) [RANGE 4 SECONDS, SLIDE 4 SECONDS, WA a.ts] AS n FROM a JOIN b ON "
    "a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL 3 SECONDS AND a.ts + INTERVAL 3 SECONDS",
}


def plans() -> dict[str, nodes.Node]:
    engine = LocalEngine()
    engine.sql(STREAMS + "".join(f"CREATE QUERY {n} AS {sql};" for n, sql in QUERIES.items()))
    return {entry.name: entry.plan for entry in engine.catalog.queries}


def join_of(plan: nodes.Node) -> nodes.Join:
    return next(node for node in walk(plan) if isinstance(node, nodes.Join))


@pytest.mark.parametrize("seed", range(5))
def test_pruned_plans_give_the_same_answers(seed: int) -> None:
    chance = random.Random(seed)
    inputs = {
        name: [
            {
                "k": chance.randrange(3),
                "v": chance.randrange(5),
                "w": chance.randrange(5),
                "ts": chance.randrange(20) * 1_000_000,
            }
            for _ in range(30)
        ]
        for name in "abc"
    }
    before = plans()
    after = prune(before, Options())
    for name, plan in before.items():
        assert same_rows(evaluate(plan, inputs), evaluate(after[name], inputs)), name


def test_a_join_gets_the_columns_that_are_read() -> None:
    after = prune({"residual": plans()["residual"]}, Options())["residual"]
    left, right = join_of(after).children
    assert set(left.schema.names) == {"k", "v", "ts"}  # the filter on `w` is below
    assert set(right.schema.names) == {"k", "w", "ts"}


def test_a_shared_join_keeps_what_any_query_needs_and_stays_shared() -> None:
    found = plans()
    after = prune({name: found[name] for name in ("pairs", "other")}, Options())
    assert join_of(after["pairs"]) == join_of(after["other"])
    left, right = join_of(after["pairs"]).children
    assert set(left.schema.names) == {"k", "v", "ts"}
    assert set(right.schema.names) == {"k", "w", "ts"}


def test_only_what_somebody_reads_is_repeated_for_each_element() -> None:
    engine = LocalEngine()
    engine.sql(
        "CREATE STREAM s (k BIGINT, tags ARRAY<STRING>, other STRING, ts TIMESTAMP) "
        "TIMESTAMP BY ts;"
        "CREATE QUERY q AS SELECT k, tag FROM s LATERAL VIEW explode(tags) t AS tag"
    )
    [plan] = prune({"q": engine.query("q").plan}, Options()).values()
    [explode] = [node for node in walk(plan) if isinstance(node, nodes.Explode)]
    assert explode.kept == ("k",)


def test_a_union_is_as_narrow_as_what_is_read_of_it_and_keeps_what_carries_bounds() -> None:
    [plan] = prune({"both": plans()["both"]}, Options()).values()
    [union] = [node for node in walk(plan) if isinstance(node, nodes.Union)]
    assert union.schema.names == ("k", "v", "ts")
    assert all(part.schema.names == ("k", "v", "ts") for part in union.parts)


def test_rows_that_wait_for_their_rank_are_as_narrow_as_what_is_aggregated() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    engine.sql(
        "CREATE QUERY q AS SELECT k, sum(v) [RANGE 4 ROWS, SLIDE 2 ROWS, PA k] AS n "
        "FROM a GROUP BY k"
    )
    [plan] = prune({"q": engine.query("q").plan}, Options()).values()
    [windows] = [node for node in walk(plan) if isinstance(node, nodes.WindowAggregate)]
    assert "w" not in windows.input.schema.names
