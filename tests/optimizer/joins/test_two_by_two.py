"""Joins of several inputs run two by two, or at once, and give the same rows."""

from __future__ import annotations

import random

import pytest

from penstock.optimizer.joins.two_by_two import shape_joins, two_by_two
from penstock.optimizer.optimize import choose
from penstock.optimizer.options import Options
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan.nodes import Join, Node
from tests.optimizer.plans import plan

THREE = "SELECT a.k FROM a JOIN b ON a.k = b.k WITHIN 9 SECONDS {} JOIN slack s ON b.v = s.v {}"


def shaped(node: Node, join: str) -> Node:
    return shape_joins({"q": node}, Options(join=join))["q"]


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
def test_joins_of_two_give_the_rows_of_the_join_of_all(text: str) -> None:
    join = plan(text).children[0]
    assert isinstance(join, Join)
    assert len(join.inputs) > 2
    chance = random.Random(text)
    inputs = {
        stream: [
            {
                "k": chance.choice("xy"),
                "v": chance.choice([0, 1, None]),
                "ts": chance.randrange(12) * 1_000_000,
            }
            for _ in range(14)
        ]
        for stream in ("a", "b", "slack")
    }
    expected = evaluate(join, inputs)
    assert expected
    assert same_rows(evaluate(two_by_two(join), inputs), expected)


def test_what_joins_begin_with_alike_they_share() -> None:
    both = "SELECT a.k FROM a JOIN b ON a.k = b.k WITHIN 9 SECONDS"
    short, long = plan(both).children[0], plan(THREE.format("", "WITHIN 5 SECONDS")).children[0]
    assert shaped(long, "auto").children[0] == short
