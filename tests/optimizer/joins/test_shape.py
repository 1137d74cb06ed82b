"""Joins of several inputs run in any shape, and give the same rows."""

from __future__ import annotations

import random

import pytest

from penstock.errors import NotExecutable
from penstock.local.engine import LocalEngine
from penstock.optimizer.codec import decode, encode
from penstock.optimizer.joins.join_tree import Branch
from penstock.optimizer.joins.mjoin import mjoin_spec
from penstock.optimizer.joins.shape import shaped as as_shaped
from penstock.optimizer.joins.shape_of import shape_joins
from penstock.optimizer.optimize import choose
from penstock.optimizer.options import Options
from penstock.optimizer.statistics import Statistics
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan.graph import walk
from penstock.plan.nodes import Edge, Join, Node
from penstock.windows import Band
from tests.optimizer.joins.trees import all_trees
from tests.optimizer.plans import plan

THREE = "SELECT a.k FROM a JOIN b ON a.k = b.k WITHIN 9 SECONDS {} JOIN slack s ON b.v = s.v {}"


def join_of(text: str) -> Join:
    join = plan(text).children[0]
    assert isinstance(join, Join)
    return join


def shaped(node: Node, join: str) -> Node:
    return shape_joins({"q": node}, Options(join=join), Statistics())["q"]


def test_three_inputs_are_joined_at_once_or_two_by_two() -> None:
    [top] = plan(THREE.format("", "WITHIN 5 SECONDS")).children
    assert isinstance(top, Join)
    at_once = choose(shaped(top, "mjoin"), Options(join="mjoin"))
    assert at_once.names == ("MJoin",)
    assert "3 inputs are joined at once" in at_once.reason
    tree = shaped(top, "auto")
    two_by_two = choose(tree, Options())
    assert two_by_two.names == ("OAJoin",)
    assert "two by two" in two_by_two.reason
    assert tree.schema == top.schema
    assert [len(node.children) for node in (tree, tree.children[0])] == [2, 2]


def test_an_outer_join_is_no_part_of_an_mjoin() -> None:
    [top] = plan(THREE.format("LEFT", "WITHIN 5 SECONDS")).children
    assert choose(top, Options(join="mjoin")).names == ("OAJoin",)


CHAINS = {
    "ranges": "SELECT * FROM a [RANGE 3 SECONDS], b [RANGE 5 SECONDS], slack s [RANGE 2 SECONDS] "
    "WHERE a.k = b.k AND b.k = s.k AND a.v + s.v > b.v",
    "conditions": "SELECT * FROM a, b, slack s WHERE a.v = s.v AND "
    "b.ts BETWEEN a.ts AND a.ts + INTERVAL 3 SECONDS AND "
    "s.ts BETWEEN b.ts - INTERVAL 4 SECONDS AND b.ts",
    "four": "SELECT * FROM a JOIN b ON a.k = b.k WITHIN 4 SECONDS JOIN slack s ON s.v = b.v "
    "WITHIN 4 SECONDS JOIN a AS c ON c.k = s.k AND a.v < b.v WITHIN 4 SECONDS",
}


@pytest.mark.parametrize("text", CHAINS.values(), ids=CHAINS)
def test_joins_of_every_shape_give_the_rows_of_the_join_of_all(text: str) -> None:
    join = join_of(text)
    assert len(join.inputs) > 2
    chance = random.Random(text)
    inputs = {
        stream: [
            {
                "k": chance.choice("xy"),
                "v": chance.choice([0, 1, None]),
                "ts": chance.randrange(12) * 1_000_000,
            }
            for _ in range(10)
        ]
        for stream in ("a", "b", "slack")
    }
    expected = evaluate(join, inputs)
    assert expected
    for tree in all_trees(range(len(join.inputs))):
        made = as_shaped(join, tree)
        assert made.schema == join.schema
        assert same_rows(evaluate(made, inputs), expected), str(tree)


def test_inputs_without_a_band_have_what_adds_up_and_keys_that_follow() -> None:
    join = join_of(CHAINS["conditions"].replace("a.v = s.v", "a.k = b.k AND b.k = s.k"))
    made = as_shaped(join, Branch((Branch((0, 2)), 1)))
    [below] = [node for node in walk(made) if isinstance(node, Join) and "b" not in node.names]
    assert below.edges == (Edge("a.ts", "s.ts", Band(-4_000_000, 3_000_000)),)
    assert below.equalities == (("a.k", "s.k"),)


def test_a_pair_that_is_near_by_itself_is_a_join_like_any_other() -> None:
    three = join_of(
        "SELECT * FROM a [RANGE 3 SECONDS], b [RANGE 5 SECONDS], slack s "
        "[RANGE 2 SECONDS] WHERE a.k = b.k AND b.v = s.v"
    )
    two = join_of("SELECT * FROM b [RANGE 5 SECONDS], slack s [RANGE 2 SECONDS] WHERE b.v = s.v")
    assert two in walk(as_shaped(three, Branch((0, Branch((1, 2))))))


def test_an_operator_over_results_of_two_inputs_is_timed_by_both() -> None:
    join = join_of(
        "SELECT * FROM a, b, slack s, a AS c WHERE b.ts BETWEEN a.ts AND a.ts + INTERVAL 9 SECONDS "
        "AND s.ts BETWEEN a.ts AND a.ts + INTERVAL 1 SECOND "
        "AND c.ts BETWEEN b.ts AND b.ts + INTERVAL 1 SECOND"
    )
    made = as_shaped(join, Branch((Branch((0, 1)), 2, 3)))
    assert isinstance(made, Join)
    spec = mjoin_spec(made)
    assert [edge.times for edge in spec.edges] == [(), ("b.ts", "c.ts")]
    assert [edge.band for edge in spec.bands] == [
        Band(0, 1_000_000),
        Band(0, 10_000_000),
        Band(-1_000_000, 10_000_000),
    ]


def test_orders_that_no_band_connects_get_an_edge_of_their_own() -> None:
    join = join_of(CHAINS["conditions"])
    made = as_shaped(join, Branch((0, 1, 2), orders=((2, 1), (0, 2), (0, 1))))
    spec = mjoin_spec(made) if isinstance(made, Join) else None
    assert spec is not None
    assert spec.orders == ((2, 1), (0, 2), (0, 1))
    assert (0, 2) in [edge.ends for edge in spec.edges]
    assert "rows of a with s, b; b with a, s; s with a, b" in choose(made, Options()).reason
    assert decode(encode(spec)) == spec


def test_what_joins_begin_with_alike_they_share() -> None:
    both = "SELECT a.k FROM a JOIN b ON a.k = b.k WITHIN 9 SECONDS"
    short, long = plan(both).children[0], plan(THREE.format("", "WITHIN 5 SECONDS")).children[0]
    assert shaped(long, "auto").children[0] == short


def test_a_join_of_more_inputs_than_can_be_searched_is_refused() -> None:
    names = [f"S{n}" for n in range(66)]
    engine = LocalEngine()
    engine.sql(";".join(f"CREATE STREAM {n} (k INT, ts TIMESTAMP) TIMESTAMP BY ts" for n in names))
    text = ", ".join(f"{name} [RANGE 1 SECOND]" for name in names)
    equal = " AND ".join(f"S0.k = {name}.k" for name in names[1:])
    with pytest.raises(NotExecutable, match="a join of 66 inputs: at most 63"):
        engine.sql(f"CREATE QUERY q AS SELECT S0.k FROM {text} WHERE {equal}")
