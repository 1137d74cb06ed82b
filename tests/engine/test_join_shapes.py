"""Every shape of a join of several streams gives the oracle's answer.

All shapes of a join run beside each other in one engine, so what they have in common they share.
What can go wrong: a band or a condition that no operator tests, or one too early; rows forgotten by
the wrong one of several times; bounds that later results lie below (an aggregate over the join
would lose them); a derived band that is too narrow; rows with NULL for a key.
"""

from __future__ import annotations

import pytest

from penstock.local.query import LocalQuery
from penstock.optimizer.joins import shape_of as shaping
from penstock.optimizer.joins.join_tree import JoinTree
from penstock.optimizer.options import Options
from penstock.optimizer.statistics import Statistics
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan.nodes import Join
from tests.engine.draw import Draw
from tests.engine.laws import Law, checks_of
from tests.engine.random_joins import join_graphs
from tests.engine.random_streams import UNITS, arrivals, declarations, pushed
from tests.engine.running import feed, how, rows_of, started
from tests.optimizer.joins.trees import all_trees, any_tree, with_orders

#: So many shapes at random of a join of five inputs and more.
SOME = 20


def named(tree: JoinTree, names: list[str]) -> str:
    if isinstance(tree, int):
        return names[tree]
    return f"({', '.join(named(each, names) for each in tree.inputs)})"


def shapes_of(draw: Draw, count: int) -> list[JoinTree]:
    """All shapes of few inputs and one in another order; some of many inputs."""
    if count > 4:
        return [any_tree(draw, range(count)) for _ in range(SOME)]
    return [*all_trees(range(count)), any_tree(draw, range(count))]


def every_shape_gives_the_oracles_answer(draw: Draw, *settings: str, ordered: bool = False) -> None:
    declared = declarations(draw, ordered=ordered)
    names = [f"s{number}" for number in range(draw.choose([3, 3, 4, 4, 5, 6]))]
    text = join_graphs(draw, UNITS[declared[0].time], names)
    events = arrivals(draw, declared, blocks=10, rows=5)
    trees = {named(tree, names): tree for tree in shapes_of(draw, len(names))}
    orders = {
        order: with_orders(draw, tree) if draw.choose([False, True]) else tree
        for order, tree in trees.items()
    }

    def shape_of(join: Join, options: Options, statistics: Statistics) -> JoinTree:
        return orders[options.join_order]

    on, inputs = draw.choose(names), pushed(declared, events)
    counted = f"SELECT {on}t, count(*) AS n FROM ({text}) GROUP BY {on}t"  # none below a bound
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shaping, "shape_of", shape_of)
        engine = started(declared, *how(draw), *settings)
        queries: dict[str, list[LocalQuery]] = {text: [], counted: []}
        for order in orders:
            engine.sql(f"SET join_order = '{order}'")
            for each, found in queries.items():
                found.append(engine.sql(each))
        feed(engine, events)
        engine.finish()
    for found in queries.values():
        expected = evaluate(found[0].plan, inputs)
        for order, query in zip(orders, found, strict=True):
            ours = rows_of(query.results())
            assert same_rows(ours, expected), "\n".join(
                [text, order, query.explain(), f"ours: {ours}", f"oracle: {expected}"]
            )
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"


LAWS: dict[Law, int] = {every_shape_gives_the_oracles_answer: 6}
(
    test_it_holds_over_many_seeds,
    test_it_holds_over_thousands_of_seeds,
    test_it_holds_for_hypothesis,
) = checks_of(LAWS, thousands=1000)
