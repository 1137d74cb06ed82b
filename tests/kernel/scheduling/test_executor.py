"""The two-step cycle: what it must never do, whatever the graph, the strategy or the step size.

Every strategy must give the same rows, and changes in mid-run must neither lose nor repeat one; a
failure of these means a scheduling rule left an operator behind, or a change of the graph moved a
cursor.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadSetting
from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.graph import Graph, GraphNode
from penstock.kernel.operator import Output
from penstock.kernel.operators.merge import Merge
from penstock.kernel.scheduling.executor import Executor, Step
from penstock.kernel.scheduling.strategies import BREADTH_FIRST, DEPTH_FIRST, ROUND_ROBIN, batched
from penstock.kernel.scheduling.strategy import Strategy
from penstock.kernel.scheduling.table import SchedulingTable
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import END
from tests.engine.draw import examples
from tests.kernel.scheduling.graphs import (
    KeepUnlessMultiple,
    Plan,
    block,
    build,
    drained,
    expected,
    path,
)

STRATEGIES = [DEPTH_FIRST, BREADTH_FIRST, ROUND_ROBIN, batched(1), batched(3), batched(100)]
LIMITS = [1, 7, None]

A: Plan = ("source", "a")
B: Plan = ("source", "b")

plans = st.recursive(
    st.sampled_from([A, B]),
    lambda below: st.one_of(
        st.tuples(st.just("keep"), st.sampled_from([0, 2, 3]), below),
        st.tuples(st.just("meld"), below, below),
    ),
    max_leaves=5,
).map(lambda plan: ("keep", 0, plan) if plan[0] == "source" else plan)


@dataclass
class Query:
    plan: Plan
    node: GraphNode
    sink: Cursor
    pushed: list[tuple[str, int]] = field(default_factory=list)


@dataclass
class World:
    """A graph with two sources, its queries, and what each of them must have seen."""

    executor: Executor
    graph: Graph
    queries: dict[str, Query] = field(default_factory=dict)
    added: int = 0
    last: int = 0

    @classmethod
    def new(cls, strategy: Strategy, limit: int | None) -> World:
        graph = Graph()
        for source in ("a", "b"):
            graph.add_source(source)
        table = SchedulingTable(graph, strategy)
        return cls(Executor(graph, table, rows_per_step=limit), graph)

    def add(self, plan: Plan, known: dict[Plan, GraphNode] | None = None) -> None:
        self.added += 1
        name = f"q{self.added}"
        node = build(self.graph, plan, known)
        self.queries[name] = Query(plan, node, self.graph.add_sink(name, node))
        self.executor.rebuild()

    def drop(self, name: str) -> None:
        del self.queries[name]
        self.graph.remove_sink(name)
        self.executor.rebuild()

    def push(self, source: str, count: int) -> None:
        values = range(self.last + 1, self.last + count + 1)
        self.last += count
        self.graph.nodes[source].output.batch(block(*values))
        for query in self.queries.values():
            query.pushed += [(source, x) for x in values]

    def end(self) -> None:
        for source in ("a", "b"):
            self.graph.nodes[source].output.punctuation(Punctuation("x", END))
        self.executor.run_until_idle()

    def check(self) -> None:
        """Every query has seen what it must, once, and the end; nothing waits anywhere."""
        for query in self.queries.values():
            values, messages = drained(query.sink)
            assert Counter(values) == expected(query.plan, query.pushed)
            assert messages == [Punctuation("x", END)]
        assert self.graph.queued_rows() == 0
        assert all(node.output.length == 0 for node in self.graph.nodes.values())


@given(
    chosen=st.lists(plans, min_size=1, max_size=3),
    pushes=st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 12)), max_size=6),
    strategy=st.sampled_from(STRATEGIES),
    limit=st.sampled_from(LIMITS),
)
def test_every_strategy_gives_the_same_rows(
    chosen: list[Plan], pushes: list[tuple[str, int]], strategy: Strategy, limit: int | None
) -> None:
    world = World.new(strategy, limit)
    for plan in chosen:
        world.add(plan)
    for source, count in pushes:
        world.push(source, count)
    world.end()
    world.check()


numbers = st.integers(0, 1000)
changes = st.one_of(
    st.tuples(st.just("push"), st.sampled_from("ab"), st.integers(1, 9)),
    st.tuples(st.just("step"), st.integers(1, 9)),
    st.tuples(st.just("strategy"), st.sampled_from(STRATEGIES), st.none() | numbers),
    st.tuples(st.just("break"), numbers),
    st.tuples(st.just("join"), numbers),
    st.tuples(st.just("add"), plans),
    st.tuples(st.just("add behind"), numbers, st.sampled_from([0, 2, 3])),
    st.tuples(st.just("drop"), numbers),
)


@given(
    first=plans,
    script=st.lists(changes, max_size=25),
    strategy=st.sampled_from(STRATEGIES),
    limit=st.sampled_from(LIMITS),
)
@examples(100)
def test_changes_in_mid_run_neither_lose_nor_repeat_a_row(
    first: Plan, script: list[tuple[object, ...]], strategy: Strategy, limit: int | None
) -> None:
    world = World.new(strategy, limit)
    executor = world.executor
    world.add(first)
    for change in script:
        nodes = list(world.graph.nodes.values())
        match change:
            case ("push", str(source), int(count)):
                world.push(source, count)
            case ("step", int(count)):
                for _ in range(count):
                    executor.step()
            case ("strategy", Strategy() as other, None):
                executor.table.set_strategy(other)
            case ("strategy", Strategy() as other, int(number)):
                executor.table.set_strategy(other, nodes[number % len(nodes) :])
            case ("break", int(number)):
                executor.table.add_break(nodes[number % len(nodes)])
            case ("join", int(number)):
                executor.table.remove_break(nodes[number % len(nodes)])
            case ("add", tuple(plan)):
                world.add(plan)
            case ("add behind", int(number), int(modulus)) if world.queries:
                # Behind a running operator, rows on their way to it would be seen as well.
                executor.run_until_idle()
                host = list(world.queries.values())[number % len(world.queries)]
                world.add(("keep", modulus, host.plan), {host.plan: host.node})
            case ("drop", int(number)) if world.queries:
                world.drop(list(world.queries)[number % len(world.queries)])
    world.end()
    world.check()


@given(
    rows=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5)), max_size=30),
    strategy=st.sampled_from(STRATEGIES),
    limit=st.sampled_from(LIMITS),
)
def test_a_waiting_union_is_in_order_under_every_strategy(
    rows: list[tuple[str, int]], strategy: Strategy, limit: int | None
) -> None:
    graph = Graph()
    chains = [graph.add(KeepUnlessMultiple(), [graph.add_source(source)]) for source in "ab"]
    sink = graph.add_sink("sink", graph.add(Merge(2, "x"), chains))
    executor = Executor(graph, SchedulingTable(graph, strategy), rows_per_step=limit)
    time: dict[str, int] = {}
    pushed: list[int] = []
    got: list[int] = []
    for source, later in rows:
        time[source] = time.get(source, 0) + later
        pushed.append(time[source])
        graph.nodes[source].output.batch(block(time[source]))
        executor.run_until_idle()
        got += drained(sink)[0]
        # Nothing passes before both have spoken; then all up to the slower one's time.
        reached = min(time.values()) if len(time) == 2 else -1
        assert got == sorted(x for x in pushed if x <= reached)
    for source in "ab":
        graph.nodes[source].output.punctuation(Punctuation("x", END))
    executor.run_until_idle()
    values, messages = drained(sink)
    assert got + values == sorted(pushed)
    assert messages[-1] == Punctuation("x", END)


def test_rows_at_another_source_are_not_stranded_behind_an_empty_one() -> None:
    graph = Graph()
    node = build(graph, ("meld", ("keep", 0, A), ("keep", 0, B)))
    sink = graph.add_sink("sink", node)
    graph.nodes["b"].output.batch(block(1, 2, 3))
    Executor(graph, rows_per_step=1).run_until_idle()
    assert drained(sink)[0] == [1, 2, 3]


class Doubling(KeepUnlessMultiple):
    """Puts everything out twice."""

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        out.batch(block)
        out.batch(block)


def test_rows_deep_in_the_graph_are_served_while_other_units_are_busy() -> None:
    graph = Graph()
    a, b = graph.add_source("a"), graph.add_source("b")
    left = graph.add(KeepUnlessMultiple(), [a], name="Left")
    right = graph.add(KeepUnlessMultiple(), [graph.add(Doubling(), [b])], name="Right")
    sink = graph.add_sink("sink", build(graph, ("meld", A, B), {A: left, B: right}))
    busy = [graph.add(KeepUnlessMultiple(), [graph.add_source(name)]) for name in "cd"]
    executor = Executor(graph, rows_per_step=1)
    b.output.batch(block(-1))
    # The union takes the first copy and goes back to `a`, which is empty: the second copy stays
    # behind Right. From then on one of the busy units always has something to do.
    last = None
    for x in range(40):
        [idle, *_] = [node for node in busy if node is not last]
        idle.producers[0].output.batch(block(x))
        step = executor.step()
        last = step.node if step else None
    assert drained(sink)[0] == [-1, -1]


def test_an_idle_graph_gives_no_step() -> None:
    executor = Executor(path("S1"))
    assert executor.step() is None
    assert executor.step() is None


def test_a_graph_without_anything_is_idle() -> None:
    assert Executor(Graph()).step() is None


def test_a_step_tells_who_consumed_how_much() -> None:
    graph = path("S1")
    source = graph.nodes["source"].output
    source.batch(block(1, 2, 3))
    source.punctuation(Punctuation("x", 3))
    seen: list[Step] = []
    executor = Executor(graph, rows_per_step=2, after_step=seen.append)
    executor.run_until_idle()
    assert [(step.node.name, step.rows) for step in seen] == [("S1", 2), ("S1", 1), ("S1", 0)]


def test_the_choice_of_the_next_operator_knows_rows_that_came_in_between() -> None:
    graph = path("S1", "S2")
    executor = Executor(graph, SchedulingTable(graph, BREADTH_FIRST), rows_per_step=1)
    graph.nodes["source"].output.batch(block(1))
    executor.step()
    graph.nodes["source"].output.batch(block(2))
    step = executor.step()
    assert step is not None and step.node.name == "S1"


def test_control_stays_where_it_is_when_the_strategy_changes() -> None:
    graph = path("S1", "S2")
    graph.nodes["source"].output.batch(block(1, 2))
    executor = Executor(graph, rows_per_step=1)
    executor.step()
    executor.table.set_strategy(BREADTH_FIRST)
    names = []
    while (step := executor.step()) is not None:
        names.append(step.node.name)
    assert names == ["S1", "S2", "S2"]


def test_control_returns_to_the_scheduler_when_its_operator_is_gone() -> None:
    graph = Graph()
    source = graph.add_source("source")
    sinks = {
        name: graph.add_sink(name, graph.add(KeepUnlessMultiple(), [source], name=name))
        for name in ("S1", "S2")
    }
    source.output.batch(block(1, 2))
    executor = Executor(graph, rows_per_step=1)
    step = executor.step()
    assert step is not None
    graph.remove_sink(step.node.name)
    executor.rebuild()
    executor.run_until_idle()
    [kept] = set(sinks) - {step.node.name}
    assert drained(sinks[kept])[0] == [1, 2]


def test_an_empty_source_may_be_filled_on_demand() -> None:
    graph = Graph()
    a, b = graph.add_source("a"), graph.add_source("b")
    sink = graph.add_sink("sink", graph.add(Merge(2, "x"), [a, b]))
    asked: list[str] = []

    def punctuate(source: GraphNode) -> bool:
        asked.append(source.name)
        if source is a or len(asked) > 1:
            return False
        source.output.punctuation(Punctuation("x", 10))
        return True

    a.output.batch(block(1, 2, 3))
    executor = Executor(graph, at_empty_source=punctuate)
    executor.run_until_idle()
    assert drained(sink)[0] == [1, 2, 3]
    assert asked[0] == "b"


def test_nobody_is_asked_for_a_bound_while_nothing_waits() -> None:
    def never(source: GraphNode) -> bool:
        raise AssertionError(source)

    graph = path("S1")
    assert Executor(graph, at_empty_source=never).step() is None


def test_operators_that_wait_for_each_other_do_not_send_control_in_circles() -> None:
    # Left holds rows of `a` and waits for `b`; Right holds rows of `b` and waits for `a`: the
    # selections in between have dropped what the other side would need.
    graph = Graph()
    a, b = graph.add_source("a"), graph.add_source("b")
    even_a, even_b = (graph.add(KeepUnlessMultiple(3), [source]) for source in (a, b))
    for name, inputs in (("Left", [a, even_b]), ("Right", [even_a, b])):
        graph.add_sink(name, graph.add(Merge(2, "x"), inputs, name=name))
    a.output.batch(block(3))
    b.output.batch(block(3))
    executor = Executor(graph, rows_per_step=1)
    executor.run_until_idle()
    assert not graph.nodes["Left"].inputs[0].empty
    assert not graph.nodes["Right"].inputs[1].empty


def test_a_step_of_no_rows_is_refused() -> None:
    with pytest.raises(BadSetting, match="a step cannot have 0 rows"):
        Executor(Graph(), rows_per_step=0)
