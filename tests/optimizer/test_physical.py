"""Physical plans are values: they go to JSON and back, and fingerprints name them for good."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import pytest

from penstock.errors import NotExecutable, PenstockBug
from penstock.model.schema import Column
from penstock.model.streams import Origin
from penstock.model.types import Type
from penstock.optimizer.codec import canonical, decode, encode
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Program, from_json, to_json
from penstock.plan.nodes import Node, Source
from tests.engine.draw import Seeded, seeds
from tests.engine.random_joins import aggregated_joins, join_queries, joins_of_three
from tests.engine.random_matches import match_queries
from tests.engine.random_queries import queries
from tests.engine.random_streams import UNITS, declarations
from tests.engine.random_tables import TABLE_COLUMNS, table_joins
from tests.engine.running import how, started
from tests.optimizer.plans import plan, specification

COUNT = "SELECT k, count(*) AS n FROM a [RANGE 1 MINUTE] WHERE v > 0 GROUP BY k"
SUM = "SELECT k, sum(v) AS s FROM a [RANGE {r} SECONDS, SLIDE {s} SECONDS] GROUP BY k"


def assert_written_and_read(program: Program) -> None:
    written = json.loads(json.dumps(to_json(program.plans), allow_nan=False))
    read = from_json(written)
    assert read == program.plans
    for name, chosen in program.plans.items():
        for mine, theirs in zip(read[name].walk(), chosen.walk(), strict=True):
            assert mine.spec == theirs.spec
            assert (mine.label, mine.reason, mine.cost) == (
                theirs.label,
                theirs.reason,
                theirs.cost,
            )
    for query in program.queries.values():
        assert decode(json.loads(canonical(query))) == query


@pytest.mark.parametrize("aggregation", ["auto", "adapt", "two_level"])
def test_plans_of_the_specification_go_to_json_and_back(aggregation: str) -> None:
    assert_written_and_read(specification(aggregation=aggregation))


@pytest.mark.parametrize("seed", seeds(16, slow=40))
def test_random_plans_go_to_json_and_back(seed: int) -> None:
    draw = Seeded(seed)
    declared = declarations(draw)
    engine = started(declared, *how(draw))
    for name in "tu":
        engine.table(name, [], columns=TABLE_COLUMNS)
    make: Any = draw.choose([queries, join_queries, joins_of_three, aggregated_joins, table_joins])
    engine.sql(make(draw, declared[0].time if make is queries else UNITS[declared[0].time]))
    [program] = engine._programs.values()
    assert_written_and_read(program)


@pytest.mark.parametrize("seed", seeds(6, slow=10))
def test_plans_of_patterns_go_to_json_and_back(seed: int) -> None:
    draw = Seeded(seed)
    declared = declarations(draw)
    engine = started(declared)
    try:
        engine.sql(match_queries(draw, UNITS[declared[0].time]))
    except NotExecutable:
        return
    [program] = engine._programs.values()
    assert_written_and_read(program)


def test_a_set_of_anything_is_written_in_one_way() -> None:
    columns = [Column("a", Type.INT), Column("b", Type.STRING)]
    for members in ([Type.INT, Type.STRING, Type.DATE], columns, [1, "x", None, 2.5]):
        written = {canonical(frozenset(each)) for each in permutations(members)}
        assert len(written) == 1
        assert decode(json.loads(written.pop())) == frozenset(members)


def test_what_is_no_part_of_a_plan_is_not_written() -> None:
    @dataclass(frozen=True)
    class Stranger:
        x: int

    for stranger in (Stranger(1), object(), [1], {"a": 1}):
        with pytest.raises(PenstockBug, match="not part of a plan"):
            encode(stranger)


def test_what_is_not_known_is_not_read() -> None:
    with pytest.raises(PenstockBug, match="unknown kind: os"):
        decode({"is": "os"})
    with pytest.raises(PenstockBug, match="has no field colour"):
        decode({"is": "Ref", "name": "k", "of": encode(Type.INT), "colour": "red"})


# --- fingerprints -------------------------------------------------------------------------------


def prints(*texts: str, running: Program | None = None) -> dict[str, str]:
    together = {f"{text}": plan(text) for text in texts}
    plans = optimize(together, running=None if running is None else running.plans).plans
    return {name: each.fingerprint for name, each in plans.items()}


def test_matches_that_are_asked_for_alike_are_found_once() -> None:
    clause = (
        "a MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES {} AS t PATTERN (A B+) "
        "DEFINE B AS v > PREV(v))"
    )
    texts = [
        f"SELECT * FROM {clause.format('LAST(ts)')}",
        f"SELECT t FROM {clause.format('LAST(ts)')} AS m WHERE k = 'x'",
        f"SELECT * FROM {clause.format('FIRST(ts)')}",
    ]
    plans = optimize({text: plan(text) for text in texts}).plans
    found = {each.id for one in plans.values() for each in one.walk() if "Match" in each.id}
    assert len(found) == 2


def test_it_depends_on_neither_name_nor_order() -> None:
    texts = [COUNT, SUM.format(r=6, s=2), SUM.format(r=9, s=3), "SELECT k FROM b"]
    assert prints(*texts) == prints(*reversed(texts))
    named = optimize({"another name": plan(COUNT)}).plans["another name"]
    assert named.fingerprint == prints(COUNT)[COUNT]


def test_it_is_the_same_in_every_process() -> None:
    text = (
        "from tests.optimizer.plans import specification\n"
        "print(*(p.fingerprint for p in specification().plans.values()))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [p.fingerprint for p in specification().plans.values()]


OTHERS = [
    COUNT.replace("v > 0", "v > 1"),
    COUNT.replace("1 MINUTE", "2 MINUTES"),
    COUNT.replace("count(*)", "sum(v)"),
    COUNT.replace("FROM a", "FROM b"),
    COUNT.replace("AS n", "AS m"),
]


def test_whatever_changes_an_answer_or_a_state_changes_it() -> None:
    found = [prints(text)[text] for text in (COUNT, *OTHERS)]
    for changed in (Options(aggregation="adapt"), Options(late="consistent")):
        found.append(optimize({"q": plan(COUNT)}, changed).plans["q"].fingerprint)
    assert len(set(found)) == len(found)


def test_a_stream_that_is_declared_in_another_way_changes_it_and_a_password_does_not() -> None:
    def over(origin: Origin, slack: int = 0) -> str:
        def moved(node: Node) -> Node:
            if not isinstance(node, Source):
                return node
            return replace(node, stream=replace(node.stream, origin=origin, slack=slack))

        from penstock.plan.graph import rewrite

        return optimize({"q": rewrite(plan(COUNT), moved)}).plans["q"].fingerprint

    topic = ("subscribe", "bids")
    first = over(Origin("kafka", None, (("password", "x"), topic)))
    assert first == over(Origin("kafka", None, (topic, ("password", "y"))))
    assert first != over(Origin("kafka", None, (("password", "x"), ("subscribe", "asks"))))
    assert first != over(Origin("kafka", None, (("password", "x"), topic)), slack=5)
    # Errors say that lost messages can be passed over: the checkpoint must go on with that.
    for option in (("failOnDataLoss", "false"), ("maxOffsetsPerTrigger", "7")):
        assert first == over(Origin("kafka", None, (("password", "x"), topic, option)))
    entries = (("key", "bids"), ("start", "1-0"))
    second = over(Origin("redis", "redis://h", entries))
    assert second == over(Origin("redis", "redis://h", (*entries, ("removed", "skip"))))
    assert second != over(Origin("redis", "redis://h", entries[:1]))


# --- queries that come later --------------------------------------------------------------------


def test_a_later_query_reads_the_panes_that_run_if_they_suit_it() -> None:
    first = optimize({"q": plan(SUM.format(r=6, s=2))})
    [store] = first.plans["q"].inputs
    later = optimize({"p": plan(SUM.format(r=8, s=4))}, running=first.plans).plans["p"]
    assert later.inputs == (store,)
    assert "a running query stores them already" in later.reason
    shorter = optimize({"p": plan(SUM.format(r=9, s=3))}, running=first.plans).plans["p"]
    assert shorter.inputs != (store,)


def test_a_later_query_changes_nothing_that_runs() -> None:
    joined = "SELECT a.v FROM a JOIN b ON a.k = b.k WITHIN 5 SECONDS"
    pairs = (
        "SELECT a.ts, b.ts AS other, count(*) [RANGE 1 SECOND, SLIDE 1 SECOND, WA a.ts] AS n "
        "FROM a JOIN b ON a.k = b.k WITHIN 5 SECONDS GROUP BY a.ts, b.ts"
    )
    first = optimize({"q": plan(pairs)})
    again = optimize({"q": plan(pairs)}, running=first.plans)
    assert again.plans == first.plans
    with_others = optimize({"q": plan(joined)}, running=first.plans)
    assert with_others.plans["q"] not in first.plans.values()


def test_a_static_table_by_itself_is_no_query() -> None:
    from penstock.model.schema import Column
    from penstock.model.tables import StaticTable
    from penstock.plan.nodes import Table

    with pytest.raises(NotExecutable, match="table `t` is not a stream"):
        optimize({"q": Table(StaticTable("t", (Column("k", Type.INT),)))})
