"""Joins of two: a join of several inputs as a tree of such, in the order in which it is written.

What the first two have in common is found, and meets the third, and so on: left-deep. Every
condition is tested as soon as its columns are there. Joins that begin alike share that.
"""

from __future__ import annotations

from functools import partial

from penstock.optimizer.joins.mjoin import mjoin_spec
from penstock.optimizer.joins.tactic import IN_ORDER, MJOIN, tactic_of
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Queries
from penstock.plan.graph import rewrite
from penstock.plan.nodes import Join, Node


def shape_joins(queries: Queries, options: Options) -> Queries:
    """The queries with their joins in the shape in which they run."""
    return {name: rewrite(plan, partial(_shaped, options)) for name, plan in queries.items()}


def _shaped(options: Options, node: Node) -> Node:
    if not isinstance(node, Join) or len(node.inputs) == 2:
        return node
    at_once = tactic_of(node, options) in (MJOIN, *IN_ORDER) and mjoin_spec(node) is not None
    return node if at_once else two_by_two(node)


def two_by_two(join: Join) -> Join:
    """The same rows from joins of two inputs each."""
    name, left = join.names[0], join.inputs[0]
    for step, edge in enumerate(join.edges, start=1):
        left = Join(
            (left, join.inputs[step]),
            (name, join.names[step]),
            (edge,),
            tuple(pair for pair in join.equalities if join.step(frozenset(pair)) == step),
            tuple(each for each in join.conditions if join.step(each.refs) == step),
            join.kind,
        )
        name = ""
    assert isinstance(left, Join)
    return left
