"""Every shape of a join of several streams gives the oracle's answer.

All shapes of a join run beside each other in one graph, so what they have in common they share, and
the query is bound and its answer computed once.
What can go wrong: a band or a condition that no operator tests, or one too early; rows forgotten by
the wrong one of several times; bounds that later results lie below (an aggregate over the join
would lose them); a derived band that is too narrow; rows with NULL for a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest

from penstock.catalog.catalog import Catalog
from penstock.kernel.scheduling.strategies import strategy_named
from penstock.optimizer.explain import explain
from penstock.optimizer.joins import shape_of as shaping
from penstock.optimizer.joins.join_tree import JoinTree
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import PhysicalPlan
from penstock.optimizer.statistics import Statistics
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan.nodes import Join, Node
from penstock.runtime.declarations import apply
from penstock.runtime.graph_host import GraphHost
from penstock.sql.bind.query import bind_query
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import BareSelect
from tests.engine.draw import Draw
from tests.engine.laws import Law, checks_of
from tests.engine.random_joins import join_graphs
from tests.engine.random_streams import (
    UNITS,
    Declared,
    Event,
    Push,
    Row,
    arrivals,
    declarations,
    pushed,
)
from tests.engine.running import AGGREGATION_SETTINGS, how, rows_of
from tests.engine.test_changes import Hosted, save_and_restore
from tests.optimizer.joins.trees import all_trees, any_tree, with_orders
from tests.ticks import push_ticks

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


@dataclass(frozen=True)
class Case:
    """A join, what comes, and shapes in which to run it, by how SET names them."""

    declared: list[Declared]
    text: str
    counted: str  # how many results there are at each time of an input: none lies below a bound
    latest: str  # and of each greatest time
    events: list[Event]
    shapes: dict[str, JoinTree]

    @property
    def inputs(self) -> dict[str, list[Row]]:
        return pushed(self.declared, self.events)

    @contextmanager
    def chosen(self) -> Iterator[None]:
        """SET join_order names a tree; here its operators may have orders, too."""

        def shape_of(join: Join, options: Options, statistics: Statistics) -> JoinTree:
            return self.shapes[options.join_order]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(shaping, "shape_of", shape_of)
            yield


def case(draw: Draw, counts: Sequence[int] = (3, 3, 4, 4, 5, 6)) -> Case:
    declared = declarations(draw)
    names = [f"s{number}" for number in range(draw.choose(counts))]
    text = join_graphs(draw, UNITS[declared[0].time], names)
    events = arrivals(draw, declared, blocks=10, rows=5)
    shapes = {
        named(tree, names): with_orders(draw, tree) if draw.choose([False, True]) else tree
        for tree in shapes_of(draw, len(names))
    }
    on = draw.choose(names)
    counted = f"SELECT {on}t, count(*) AS n FROM ({text}) GROUP BY {on}t"
    greatest = f"greatest({', '.join(f'{name}t' for name in names)})"
    latest = f"SELECT t, count(*) AS n FROM (SELECT {greatest} AS t FROM ({text})) GROUP BY t"
    return Case(declared, text, counted, latest, events, shapes)


def bound(text: str, catalog: Catalog) -> Node:
    [statement] = parse(text)
    assert isinstance(statement, BareSelect)
    return bind_query(statement.select, catalog)


@dataclass(frozen=True)
class Given:
    """Streams, what comes, and queries."""

    declared: list[Declared]
    events: list[Event]
    texts: list[str]


def check(draw: Draw, given: Given, orders: Sequence[str], *settings: str) -> None:
    """Queries in every order of joins give the oracle's answer on one host, and leave nothing."""
    catalog = Catalog()
    changes = [f"SET {each}" for each in (*how(draw, AGGREGATION_SETTINGS), *settings)]
    for statement in parse("; ".join([*changes, *(stream.sql for stream in given.declared)])):
        apply(statement, catalog)
    asked = {f"q{n}": bound(text, catalog) for n, text in enumerate(given.texts)}
    host = GraphHost(rows_per_step=catalog.settings.rows_per_step)
    host.executor.table.set_strategy(strategy_named(catalog.settings.strategy))
    for entry in catalog.streams:
        host.add_stream(entry.stream)
    plans: dict[str, PhysicalPlan] = {}
    for order in orders:
        program = optimize(asked, replace(catalog.settings.options, join_order=order))
        plans |= {f"{name} {order}": plan for name, plan in program.plans.items()}
    host.add_plans(plans)
    for event in given.events:
        if isinstance(event, Push):
            push_ticks(host, event.stream, event.rows)
        else:
            host.punctuate(event.stream, event.bound)
        host.run()
    host.finish()
    inputs = pushed(given.declared, given.events)
    for (name, plan), text in zip(asked.items(), given.texts, strict=True):
        expected = evaluate(plan, inputs)
        for order in orders:
            ours, runs = rows_of(host.results(f"{name} {order}")), plans[f"{name} {order}"]
            assert same_rows(ours, expected), "\n".join(
                [text, order, explain(runs), f"ours: {ours}", f"oracle: {expected}"]
            )
    left = [size for size in host.graph.state_sizes() if size[2]]
    assert left == [], "state of streams that are over"


def check_shapes(draw: Draw, drawn: Case, *settings: str) -> None:
    texts = [drawn.text, draw.choose([drawn.counted, drawn.latest])]
    with drawn.chosen():
        check(draw, Given(drawn.declared, drawn.events, texts), [*drawn.shapes], *settings)


def every_shape_gives_the_oracles_answer(draw: Draw) -> None:
    check_shapes(draw, case(draw))


def every_shape_gives_it_where_order_is_kept_everywhere(draw: Draw) -> None:
    check_shapes(draw, case(draw, (3, 3, 4)), "mode = iop")


class Shaped(Hosted):
    """Queries on a host, each with its own shape."""

    def __init__(self, drawn: Case) -> None:
        self._orders = [*drawn.shapes]
        super().__init__(drawn.declared, [drawn.text for _ in drawn.shapes])

    def options(self, name: str) -> Options:
        return Options(join_order=self._orders[int(name[1:])])


def every_shape_gives_it_when_saved_and_restored_in_between(draw: Draw) -> None:
    drawn = case(draw, (3, 4))
    with drawn.chosen():
        hosted = Shaped(drawn)
        for event in drawn.events:
            hosted.happen(event)
            for _ in range(draw.between(0, 40)):
                hosted.host.step()
            if draw.choose([False, True]):
                save_and_restore(hosted, draw)
        hosted.host.finish()
        expected = evaluate(hosted.plans["q0"], drawn.inputs)
        for name in hosted.plans:
            assert same_rows(hosted.answer(name), expected), (drawn.text, hosted.options(name))


LAWS: dict[Law, int] = {
    every_shape_gives_the_oracles_answer: 4,
    every_shape_gives_it_where_order_is_kept_everywhere: 2,
    every_shape_gives_it_when_saved_and_restored_in_between: 2,
}
(
    test_it_holds_over_many_seeds,
    test_it_holds_over_thousands_of_seeds,
    test_it_holds_for_hypothesis,
) = checks_of(LAWS, thousands=1000)
