"""Joins that differ in the rows they take of one stream run as one."""

from __future__ import annotations

import pytest

from penstock.optimizer.alter import takeovers
from penstock.optimizer.explain import explain_program
from penstock.optimizer.optimize import beside, optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Plans, walk
from penstock.optimizer.specs import WindowJoinSpec
from tests.optimizer.plans import plan

JOIN = "SELECT a.v AS v, b.v AS w FROM a {kind} b ON a.k = b.k WITHIN 3 SECONDS WHERE {where}"


def text(where: str, kind: str = "JOIN") -> str:
    return JOIN.format(kind=kind, where=where)


def planned(*wheres: str, kind: str = "JOIN") -> Plans:
    return optimize({f"q{n}": plan(text(each, kind)) for n, each in enumerate(wheres)}).plans


def joins(plans: Plans) -> list[str]:
    return [each.id for each in walk(plans.values()) if isinstance(each.spec, WindowJoinSpec)]


def test_joins_that_differ_in_a_condition_become_one() -> None:
    shown = explain_program(planned("a.v > 5", "a.k = 'x'"))
    assert shown.count("OAJoin") == 1
    assert "shared by 2 joins that differ only in conditions" in shown
    assert "Select (k = 'x') OR (v > 5)" in shown
    assert "Select a.v > 5" in shown
    assert "Select a.k = 'x'" in shown


def test_the_join_is_the_same_in_whatever_order_queries_are_declared() -> None:
    assert joins(planned("a.v > 5", "a.v = 1")) == joins(planned("a.v = 1", "a.v > 5"))


@pytest.mark.parametrize(
    ("wheres", "count"),
    [
        (["a.v > 5", "a.v > 5"], 1),
        (["a.v > 5", "TRUE"], 1),
        (["b.v > 5", "b.v < 2", "b.v = 3"], 1),
        (["a.v > 5 AND b.v = 1", "a.v = 1 AND b.v = 1"], 1),
        # What is about both inputs would have rows meet that are in no result.
        (["a.v > 5 AND b.v = 1", "a.v = 1 AND b.v = 2"], 2),
        (["a.v > 5", "b.v > 5"], 2),
    ],
)
def test_which_joins_become_one(wheres: list[str], count: int) -> None:
    assert len(joins(planned(*wheres))) == count


def test_outer_joins_stay_as_they_are() -> None:
    assert len(joins(planned("a.v > 5", "a.v = 1", kind="LEFT JOIN"))) == 2


def test_joins_that_other_joins_read_stay_as_they_are() -> None:
    three = (
        "SELECT a.v AS v FROM a JOIN b ON a.k = b.k WITHIN 3 SECONDS "
        "JOIN wide ON a.k = wide.k WITHIN 3 SECONDS WHERE a.v = {}"
    )
    queries = {f"q{n}": plan(three.format(n)) for n in (1, 2)}
    plans = optimize(queries, Options(join="oa", join_order="((a, b), wide)")).plans
    assert len(joins(plans)) == 4


def test_a_query_that_comes_later_uses_a_join_that_has_its_rows() -> None:
    program = optimize({"p": plan(text("a.v > 5")), "q": plan(text("a.v = 1"))})
    later = {"same": plan(text("a.v = 1")), "other": plan(text("a.v = 2"))}
    both = beside(program, later)
    [there] = joins(program.plans)
    assert joins({"same": both.plans["same"]}) == [there]
    assert joins({"other": both.plans["other"]}) != [there]
    both = beside(program, {"later": plan(text("a.v = 1").replace("a.v AS v", "a.k AS k"))})
    assert joins(both.plans) == [there]  # the columns are among those of the join


def test_a_query_whose_algorithm_is_altered_reads_what_it_has_shared() -> None:
    queries = {"p": plan(text("a.v > 5")), "q": plan(text("a.v = 1"))}
    program = optimize(queries)
    options = Options(join="sync_filter")
    for left in (program.without(["p"]), program.without(["p", "q"])):
        leaving = {name: each for name, each in program.plans.items() if name not in left.plans}
        own = beside(left, {"p": queries["p"]}, own={"p": options}, leaving=leaving)
        [(now, then)] = takeovers("p", program.plans["p"], own.plans["p"])
        assert (now.spec.name, then.spec.name) == ("OAJoin", "SyncFilter")
        assert now.inputs == then.inputs
