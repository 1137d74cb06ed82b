"""Conditions are tested as early as can be, and the rows stay the same."""

from __future__ import annotations

import pytest

from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import walk as walk_plans
from penstock.optimizer.rules.push_down_select import push_down_select
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan.explain import explain
from penstock.plan.graph import walk
from penstock.plan.nodes import Join, Node, Select
from tests.engine.draw import Draw, check_seeds
from tests.engine.random_joins import aggregated_joins, join_queries, joined_aggregates
from tests.engine.random_streams import UNITS, arrivals, declarations, pushed
from tests.engine.running import started
from tests.optimizer.plans import plan

VIEW = "(SELECT a.k AS k, a.v AS v, b.v AS w, a.ts AS ts FROM a {} b ON a.k = b.k WITHIN 3 SECONDS)"


def moved(text: str) -> Node:
    return push_down_select({"q": plan(text)}, Options())["q"]


def conditions(node: Node) -> list[str]:
    """Conditions, and what they are tested on."""
    return [
        f"{each.predicate} on {type(each.input).__name__}"
        for each in walk(node)
        if isinstance(each, Select)
    ]


@pytest.mark.parametrize(
    ("kind", "where", "expected"),
    [
        ("JOIN", "v > 1", ["v > 1 on Source"]),
        ("JOIN", "v > 1 AND w < 5", ["v > 1 on Source", "v < 5 on Source"]),
        ("LEFT JOIN", "v > 1 AND w < 5", ["v > 1 on Source", "b.v < 5 on Join"]),
        ("RIGHT JOIN", "v > 1 AND w < 5", ["v < 5 on Source", "a.v > 1 on Join"]),
        ("FULL JOIN", "v > 1", ["a.v > 1 on Join"]),
    ],
)
def test_conditions_go_below_joins(kind: str, where: str, expected: list[str]) -> None:
    assert conditions(moved(f"SELECT * FROM {VIEW.format(kind)} WHERE {where}")) == expected


def test_a_condition_on_both_sides_is_part_of_the_join() -> None:
    made = moved(f"SELECT * FROM {VIEW.format('JOIN')} WHERE v = w AND v + w > 3")
    [join] = [node for node in walk(made) if isinstance(node, Join)]
    assert join.equalities == (("a.k", "b.k"), ("a.v", "b.v"))
    assert [str(each) for each in join.conditions] == ["(a.v + b.v) > 3"]


def test_conditions_on_groups_go_below_windows_and_others_stay() -> None:
    made = moved(
        "SELECT * FROM (SELECT k, count(*) [RANGE 2 SECONDS] AS n FROM a GROUP BY k) "
        "WHERE k = 'x' AND n > 2"
    )
    assert conditions(made) == ["k = 'x' on Source", "n > 2 on WindowAggregate"]


def test_conditions_go_into_all_inputs_of_a_union() -> None:
    made = moved("SELECT * FROM (SELECT k, v FROM a UNION ALL SELECT k, v FROM b) WHERE v > 1")
    assert conditions(made) == ["v > 1 on Source", "v > 1 on Source"]


def test_what_others_read_as_well_stays_as_it_is() -> None:
    view = VIEW.format("JOIN")
    queries = {
        "all": plan(f"SELECT * FROM {view}"),
        "some": plan(f"SELECT * FROM {view} WHERE v > 1"),
    }
    made = push_down_select(queries, Options())
    assert made == queries
    assert explain(made["some"]) == explain(queries["some"])


def test_one_that_comes_later_shares_what_runs() -> None:
    view = VIEW.format("JOIN")
    running = optimize({"all": plan(f"SELECT k, v, w FROM {view}")}).plans
    later = plan(f"SELECT k, v, w FROM {view} WHERE v > 1")
    alone, beside = (
        {each.spec.name: each for each in walk_plans(made.plans.values())}
        for made in (optimize({"q": later}), optimize({"q": later}, running=running))
    )
    assert beside["OAJoin"] in walk_plans(running.values())
    assert alone["OAJoin"] not in walk_plans(running.values())


FILTERS = {
    join_queries: ["lk = 'x'", "lv > 0", "lt > 3 OR lk IS NULL", "lk <> 'y' AND lv < 5"],
    aggregated_joins: ["g IS NOT NULL", "n > 1", "g = g AND n < 3"],
    joined_aggregates: ["k = 'x'", "n < m", "n > 1 AND k <> 'z'"],
}


def rows_stay_the_same(draw: Draw) -> None:
    declared = declarations(draw)
    make = draw.choose([*FILTERS])
    text = make(draw, UNITS[declared[0].time])
    where = draw.choose(FILTERS[make]).replace("lt > 3", "lv > 3")
    events = arrivals(draw, declared, blocks=6, rows=6)
    asked = started(declared).sql(f"SELECT * FROM ({text}) WHERE {where}").plan
    made = push_down_select({"q": asked}, Options())["q"]
    inputs = pushed(declared, events)
    assert made.schema == asked.schema
    assert same_rows(evaluate(made, inputs), evaluate(asked, inputs)), f"{text} {where}"


def test_rows_stay_the_same_over_many_seeds() -> None:
    check_seeds(40, rows_stay_the_same)
