"""What changes while queries run changes no answer.

Strategies, step sizes, break points and other queries come and go: between pushes, as a user of the
engine does it, and between single steps, with rows waiting everywhere in the graph. Queries that
stay give the oracle's answer, without losing or repeating a row. A query that comes later gives the
answer over the rows from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.catalog.catalog import Catalog
from penstock.kernel.scheduling.strategies import strategy_named
from penstock.optimizer.build import build
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import PhysicalPlan
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan.graph import walk
from penstock.plan.nodes import Node, Source
from penstock.runtime.declarations import apply
from penstock.runtime.graph_host import GraphHost
from penstock.sql.bind.query import bind_query
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import BareSelect
from tests.engine.draw import Draw, several
from tests.engine.laws import Law, checks_of
from tests.engine.random_queries import lone_window_queries, queries
from tests.engine.random_streams import (
    UNITS,
    Declared,
    Event,
    Push,
    Row,
    arrivals,
    bounds_of,
    declarations,
    pushed,
)
from tests.engine.running import (
    AGGREGATION_SETTINGS,
    PROMPT_AGGREGATIONS,
    STRATEGIES,
    assert_right,
    feed,
    how,
    rows_of,
    started,
)
from tests.kernel.moving import Snapshot
from tests.ticks import push_ticks

# --- between pushes, in SQL ---------------------------------------------------------------------


def changes_of_strategy_between_pushes_change_no_answer(draw: Draw) -> None:
    declared = declarations(draw)
    text = queries(draw, declared[0].time)
    events = arrivals(draw, declared)
    engine = started(declared)
    query = engine.sql(text)
    for event in events:
        engine.sql("; ".join(f"SET {setting}" for setting in how(draw, AGGREGATION_SETTINGS)))
        feed(engine, [event])
    engine.finish()
    assert_right(query, pushed(declared, events), text)


def queries_that_come_and_go_leave_the_others_alone(draw: Draw) -> None:
    declared = declarations(draw)
    text = queries(draw, declared[0].time)
    other = lone_window_queries(draw, UNITS[declared[0].time])
    events = arrivals(draw, declared)
    comes, goes = sorted(draw.between(0, len(events)) for _ in range(2))
    engine = started(declared, *how(draw, PROMPT_AGGREGATIONS))
    query = engine.sql(text)
    feed(engine, events[:comes])
    guest = engine.sql(f"CREATE QUERY guest AS {other}")
    feed(engine, events[comes:goes])
    guest.stop()
    feed(engine, events[goes:])
    engine.finish()
    assert_right(query, pushed(declared, events), text)
    # The guest has answered, over the rows of its time, whatever was over before it left.
    low = min(bounds_of(declared, events[:goes])[name] for name in streams_of(guest.plan))
    answer = evaluate(guest.plan, between(declared, events, comes, goes))
    over = [row for row in answer if row["window_end"] <= low]
    assert same_rows(rows_of(guest.to_polars()), over), other


def a_query_that_asks_what_is_already_computed_joins_in(draw: Draw) -> None:
    declared = declarations(draw)
    text = lone_window_queries(draw, UNITS[declared[0].time])
    events = arrivals(draw, declared)
    comes = draw.between(0, len(events))
    engine = started(declared, *how(draw, AGGREGATION_SETTINGS))
    first = engine.sql(text)
    feed(engine, events[:comes])
    early = rows_of(first.fetch())
    second = engine.sql(f"CREATE QUERY second FROM STATE AS {text}")
    feed(engine, events[comes:])
    engine.finish()
    # It shares the state, so windows that began before it came are whole.
    assert same_rows(rows_of(second.to_polars()), rows_of(first.results()))
    whole = evaluate(first.plan, pushed(declared, events))
    assert same_rows(early + rows_of(second.to_polars()), whole)


def streams_of(plan: Node) -> list[str]:
    return [node.stream.name for node in walk(plan) if isinstance(node, Source)]


def between(
    declared: Sequence[Declared], events: Sequence[Event], first: int, last: int
) -> dict[str, list[Row]]:
    """The rows of events[first:last], with the numbers that their streams gave them."""
    skipped, all_rows = pushed(declared, events[:first]), pushed(declared, events[:last])
    return {name: rows[len(skipped[name]) :] for name, rows in all_rows.items()}


# --- between steps ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guest:
    """A query that comes and goes, and how many events had happened when it came."""

    plan: Node
    came: int


class Hosted:
    """Queries on a host that is driven step by step."""

    def __init__(self, declared: Sequence[Declared], texts: Sequence[str]) -> None:
        self._catalog = Catalog()
        self.declared = declared
        self.happened: list[Event] = []
        self.put_out: dict[str, list[dict[str, Any]]] = {}  # by hosts that are gone
        for stream in declared:
            [statement] = parse(stream.sql)
            apply(statement, self._catalog)
        self.plans = {f"q{n}": self._plan(text) for n, text in enumerate(texts)}
        self.start()

    def start(self) -> None:
        """The streams and queries that stay, on a new host."""
        self.host = GraphHost()
        for entry in self._catalog.streams:
            self.host.add_stream(entry.stream)
        self.running: dict[str, PhysicalPlan] = {}
        self.guest: Guest | None = None
        for name, plan in self.plans.items():
            self._add(name, plan)

    def receive(self, text: str) -> None:
        """Add a query that does not stay."""
        self.guest = Guest(self._plan(text), len(self.happened))
        self._add("guest", self.guest.plan)

    def dismiss(self) -> None:
        """Remove it again; what it has put out must be right over the rows of its time."""
        assert self.guest is not None
        ours = self.answer("guest")
        rows = between(self.declared, self.happened, self.guest.came, len(self.happened))
        expected = evaluate(self.guest.plan, rows)
        assert all(row in expected for row in ours) and len(ours) <= len(expected)
        self.host.remove_query("guest")
        del self.running["guest"]
        self.guest = None

    def _plan(self, text: str) -> Node:
        [statement] = parse(text)
        assert isinstance(statement, BareSelect)
        return bind_query(statement.select, self._catalog)

    def options(self, name: str) -> Options:
        """What a query runs by."""
        return Options()

    def _add(self, name: str, plan: Node) -> None:
        self.running |= optimize({name: plan}, self.options(name), running=self.running).plans
        sources = self.host.source
        node = build(self.running[name], self.host.graph, lambda spec: sources(spec.stream.name))
        self.host.add_query(name, node)

    def happen(self, event: Event) -> None:
        """Rows or a bound come in; nothing runs yet."""
        self.happened.append(event)
        if isinstance(event, Push):
            push_ticks(self.host, event.stream, event.rows)
        else:
            self.host.punctuate(event.stream, event.bound)

    def answer(self, name: str) -> list[dict[str, Any]]:
        return self.put_out.pop(name, []) + self.host.results(name).to_dicts()


def changes_between_steps_lose_and_repeat_nothing(draw: Draw) -> None:
    declared = declarations(draw)
    texts = several(draw, 1, 2, lambda draw: queries(draw, declared[0].time))
    events = arrivals(draw, declared, blocks=5, rows=5)
    hosted = Hosted(declared, texts)
    for event in events:
        hosted.happen(event)
        for change in several(draw, 0, 3, lambda draw: draw.choose(CHANGES)):
            for _ in range(draw.between(0, 6)):
                hosted.host.step()
            change(hosted, draw)
    hosted.host.finish()
    if hosted.guest is not None:
        hosted.dismiss()
    for name, plan in hosted.plans.items():
        ours, expected = hosted.answer(name), evaluate(plan, pushed(declared, events))
        assert same_rows(ours, expected), (texts, ours, expected)


def change_strategy(hosted: Hosted, draw: Draw) -> None:
    """For everything, or for a part of the graph."""
    nodes = [node for node in hosted.host.graph.nodes.values() if not node.is_fork]
    part = several(draw, 0, 3, lambda draw: draw.choose(nodes))
    strategy = strategy_named(draw.choose(STRATEGIES))
    hosted.host.executor.table.set_strategy(strategy, part or None)


def change_step_size(hosted: Hosted, draw: Draw) -> None:
    hosted.host.executor.rows_per_step = draw.choose([None, 7, 1])


def break_or_join(hosted: Hosted, draw: Draw) -> None:
    executor = hosted.host.executor
    node = draw.choose(list(hosted.host.graph.nodes.values()))
    if node in executor.table.breaks:
        executor.table.remove_break(node)
    else:
        executor.table.add_break(node)


def save_and_restore(hosted: Hosted, draw: Draw) -> None:
    """Go on in a new host from what the old one saved."""
    if hosted.guest is None:
        before = hosted.host
        saved = Snapshot.of(before.states(), before.graph)
        for name in hosted.plans:
            hosted.put_out.setdefault(name, []).extend(before.results(name).to_dicts())
        hosted.start()
        saved.put_into(hosted.host.states(), hosted.host.graph)


def add_or_remove_a_query(hosted: Hosted, draw: Draw) -> None:
    if hosted.guest is None:
        # Not over a union: it would share the rows that are on their way to that union.
        unit = UNITS[hosted.declared[0].time]
        hosted.receive(lone_window_queries(draw, unit, unions=False))
    else:
        hosted.dismiss()


CHANGES = (
    change_strategy,
    change_step_size,
    break_or_join,
    save_and_restore,
    add_or_remove_a_query,
)


#: Law -> how many seeds.
LAWS: dict[Law, int] = {
    changes_of_strategy_between_pushes_change_no_answer: 24,
    queries_that_come_and_go_leave_the_others_alone: 24,
    a_query_that_asks_what_is_already_computed_joins_in: 24,
    changes_between_steps_lose_and_repeat_nothing: 36,
}
(
    test_it_holds_over_many_seeds,
    test_it_holds_over_thousands_of_seeds,
    test_it_holds_for_hypothesis,
) = checks_of(LAWS)
