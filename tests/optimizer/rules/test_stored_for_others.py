"""Joins of queries that are altered one after the other are shared again afterwards."""

from __future__ import annotations

from dataclasses import replace

from penstock.kernel.joins.spec import JoinSpec
from penstock.local.engine import LocalEngine
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import PhysicalPlan, Program
from penstock.optimizer.specs import WindowJoinSpec
from penstock.plan.nodes import Node
from penstock.spark.coming import Kept, how_kept
from penstock.spark.next_program import Altered, next_program

PAIRS = "FROM a JOIN b ON a.k = b.k WITHIN 5 SECONDS"
JOINS = f"{PAIRS} JOIN c ON b.k = c.k WITHIN 5 SECONDS WHERE a.w < c.w"
#: What each query reads of the same joins.
READ = {
    "q": f"a.v AS v {JOINS}",
    "other": f"b.v AS v, c.k AS k {JOINS}",
    "third": f"c.v AS v {JOINS}",
    "pairs": f"a.w AS w, a.ts AS t {PAIRS}",
}
WRITTEN = Options(join_order="((a, b), c)")
SHAPED = Options(join_order="(a, (b, c))")


def queries(*names: str) -> dict[str, Node]:
    engine = LocalEngine()
    for name in "abc":
        columns = "k INT, v INT, w INT, unread INT, ts TIMESTAMP"
        engine.sql(f"CREATE STREAM {name} ({columns}) TIMESTAMP BY ts ORDERED")
    return {n: engine.sql(f"CREATE QUERY {n} AS SELECT {READ[n]}").plan for n in names}


def joins_of(plan: PhysicalPlan) -> set[PhysicalPlan]:
    return {each for each in plan.walk() if isinstance(each.spec, WindowJoinSpec)}


def stored(plan: PhysicalPlan) -> set[str]:
    """The columns of the streams that its joins store, but for keys and times."""
    specs = (each.spec for each in plan.walk())
    joins = (spec.join for spec in specs if isinstance(spec, WindowJoinSpec))
    sides = (side for join in joins if isinstance(join, JoinSpec) for side in join.sides)
    return {name for side in sides for name in side.names if name[-1] in "vw"}


def altered(program: Program, number: int, options: Options, *names: str) -> Program:
    changes = {name: Altered(queries(name)[name], options) for name in names}
    found = next_program(program, number, (), changes)
    assert all(how_kept(name, found, program) in (Kept.ALL, Kept.HANDED) for name in names)
    return found


def test_queries_that_are_altered_one_after_the_other_share_joins_again() -> None:
    before = optimize(queries("q", "other"), WRITTEN)
    assert joins_of(before.plans["q"]) == joins_of(before.plans["other"])
    first = altered(before, 1, SHAPED, "q")
    assert joins_of(first.plans["q"]).isdisjoint(joins_of(first.plans["other"]))
    then = altered(first, 2, SHAPED, "other")
    assert joins_of(then.plans["q"]) == joins_of(then.plans["other"])
    assert stored(then.plans["q"]) == {"a.v", "a.w", "b.v", "c.w"}


def test_an_option_that_changes_no_join_leaves_it_shared() -> None:
    before = optimize(queries("q", "other"), WRITTEN)
    after = altered(before, 1, replace(WRITTEN, migration="pt"), "q")
    assert after.plans == before.plans


def test_what_nobody_else_reads_is_not_stored_any_more() -> None:
    before = optimize(queries("q", "other"), WRITTEN)
    alone = next_program(before, 1, ["other"])
    after = altered(alone, 2, SHAPED, "q")
    assert stored(after.plans["q"]) == {"a.v", "a.w", "c.w"}


def test_what_was_never_stored_is_not_asked_for() -> None:
    apart = optimize(queries("q"), WRITTEN) | optimize(queries("third"), WRITTEN)
    assert joins_of(apart.plans["q"]).isdisjoint(joins_of(apart.plans["third"]))
    after = altered(apart, 1, SHAPED, "q", "third")
    assert stored(after.plans["q"]) == {"a.v", "a.w", "c.w"}
    assert stored(after.plans["third"]) == {"a.w", "c.v", "c.w"}


def test_joins_that_another_query_reads_further_can_be_altered() -> None:
    before = optimize(queries("pairs", "q"), Options())
    after = altered(before, 1, Options(join="mjoin"), "pairs")
    assert stored(after.plans["pairs"]) == stored(before.plans["pairs"])
