"""Every shape of a join of several streams gives the oracle's answer.

All shapes of a join run beside each other in one engine, so what they have in common they share.
What can go wrong: a band or a condition that no operator tests, or one too early; rows forgotten by
the wrong one of several times; bounds that later results lie below (an aggregate over the join
would lose them); a derived band that is too narrow; rows with NULL for a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

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
from tests.engine.random_streams import (
    UNITS,
    Declared,
    Event,
    Row,
    arrivals,
    declarations,
    pushed,
)
from tests.engine.running import feed, how, rows_of, started
from tests.engine.test_changes import Hosted, save_and_restore
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


def check(draw: Draw, case: Case, texts: Sequence[str], *settings: str) -> None:
    """All shapes in one engine give the oracle's answer, and leave nothing behind."""
    with case.chosen():
        engine = started(case.declared, *how(draw), *settings)
        queries: dict[str, list[LocalQuery]] = {text: [] for text in texts}
        for order in case.shapes:
            engine.sql(f"SET join_order = '{order}'")
            for text, found in queries.items():
                found.append(engine.sql(text))
        feed(engine, case.events)
        engine.finish()
    for found in queries.values():
        expected = evaluate(found[0].plan, case.inputs)
        for order, query in zip(case.shapes, found, strict=True):
            ours = rows_of(query.results())
            assert same_rows(ours, expected), "\n".join(
                [case.text, order, query.explain(), f"ours: {ours}", f"oracle: {expected}"]
            )
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"


def every_shape_gives_the_oracles_answer(draw: Draw) -> None:
    drawn = case(draw)
    check(draw, drawn, [drawn.text, draw.choose([drawn.counted, drawn.latest])])


def every_shape_gives_it_where_order_is_kept_everywhere(draw: Draw) -> None:
    drawn = case(draw, (3, 3, 4))
    check(draw, drawn, [drawn.text, draw.choose([drawn.counted, drawn.latest])], "mode = iop")


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
