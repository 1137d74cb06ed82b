"""The order in which each strategy executes operators, written out; a step takes one row."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.kernel.graph import Graph
from penstock.kernel.operators.fork import Fork
from penstock.kernel.operators.meld import Meld
from penstock.kernel.operators.merge import Merge
from penstock.kernel.scheduling.executor import Executor
from penstock.kernel.scheduling.row import Control, Execute, serve
from penstock.kernel.scheduling.strategies import BREADTH_FIRST, DEPTH_FIRST, ROUND_ROBIN, batched
from penstock.kernel.scheduling.strategy import Strategy
from penstock.kernel.scheduling.table import SchedulingTable
from tests.kernel.scheduling.graphs import KeepUnlessMultiple, block, path


def order(graph: Graph, strategy: Strategy, *, limit: int | None = 1) -> str:
    """Names of the operators in the order of their execution."""
    executor = Executor(graph, SchedulingTable(graph, strategy), rows_per_step=limit)
    names = []
    while (step := executor.step()) is not None:
        names.append(step.node.name)
    return " ".join(names)


def fed_path(count: int, *names: str) -> Graph:
    graph = path(*names)
    graph.nodes["source"].output.batch(block(*range(1, count + 1)))
    return graph


def fed_union(a: int, b: int) -> Graph:
    graph = Graph()
    for source, count in (("a", a), ("b", b)):
        node = graph.add_source(source)
        graph.add(KeepUnlessMultiple(), [node], name=source.upper())
        node.output.batch(block(*range(count)))
    graph.add_sink("sink", graph.add(Meld(2), [graph.nodes["A"], graph.nodes["B"]], name="U"))
    return graph


def fed_fork(count: int) -> Graph:
    graph = Graph()
    source = graph.add_source("source")
    for name in ("L", "R"):
        graph.add_sink(name, graph.add(KeepUnlessMultiple(), [source], name=name))
    source.output.batch(block(*range(count)))
    return graph


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (DEPTH_FIRST, "S1 S2 S3 S1 S2 S3 S1 S2 S3"),
        (BREADTH_FIRST, "S1 S1 S1 S2 S2 S2 S3 S3 S3"),
        (ROUND_ROBIN, "S1 S1 S1 S2 S2 S2 S3 S3 S3"),
        (batched(1), "S1 S2 S3 S1 S2 S3 S1 S2 S3"),
        (batched(2), "S1 S1 S2 S2 S3 S3 S1 S2 S3"),
        (batched(9), "S1 S1 S1 S2 S2 S2 S3 S3 S3"),
    ],
    ids=str,
)
def test_order_on_a_path(strategy: Strategy, expected: str) -> None:
    assert order(fed_path(3, "S1", "S2", "S3"), strategy) == expected


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (DEPTH_FIRST, "A U A U B U B U"),
        (BREADTH_FIRST, "A A U U B B U U"),
        (ROUND_ROBIN, "A A B B U U U U"),
        (batched(1), "A U A U B U B U"),
        (batched(2), "A A U U B B U U"),
    ],
    ids=str,
)
def test_order_at_a_union(strategy: Strategy, expected: str) -> None:
    assert order(fed_union(2, 2), strategy) == expected


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        # A branch backtracks only when it has read everything.
        (DEPTH_FIRST, "L L R R"),
        (BREADTH_FIRST, "L L R R"),
        (ROUND_ROBIN, "L L R R"),
        (batched(1), "L L R R"),
    ],
    ids=str,
)
def test_order_at_a_fork(strategy: Strategy, expected: str) -> None:
    assert order(fed_fork(2), strategy) == expected


def test_a_fork_serves_the_branch_whose_turn_it_is() -> None:
    graph = fed_fork(1)
    fork = graph.nodes["Fork source"]
    rows = SchedulingTable(graph).rows[fork]
    assert isinstance(fork.operator, Fork)
    for turn, name in enumerate(["L", "R", "L", "R"]):
        fork.operator.turn = turn
        assert serve(Control(rows)) == Execute(graph.nodes[name])


def test_a_fork_passes_over_a_branch_that_has_read_everything() -> None:
    graph = fed_fork(1)
    fork = graph.nodes["Fork source"]
    rows = SchedulingTable(graph).rows[fork]
    graph.nodes["L"].step()
    assert serve(Control(rows)) == Execute(graph.nodes["R"])
    graph.nodes["R"].step()
    assert serve(Control(rows)) is None


def test_a_branch_that_waits_does_not_keep_the_fork_from_the_others() -> None:
    graph = Graph()
    source, quiet = graph.add_source("source"), graph.add_source("quiet")
    waiting = graph.add(Merge(2, "x"), [source, quiet], name="Waiting")
    graph.add_sink("merged", waiting)
    graph.add_sink("all", graph.add(KeepUnlessMultiple(), [source], name="Ready"))
    source.output.batch(block(1, 2, 3))
    assert order(graph, DEPTH_FIRST) == "Ready Ready Ready"
    assert not waiting.inputs[0].empty


def test_depth_first_encores_where_nothing_was_put_out() -> None:
    graph = Graph()
    source = graph.add_source("source")
    odd = graph.add(KeepUnlessMultiple(2), [source], name="Odd")
    graph.add_sink("sink", graph.add(KeepUnlessMultiple(), [odd], name="All"))
    source.output.batch(block(2, 4, 5))
    assert order(graph, DEPTH_FIRST) == "Odd Odd Odd All"


def test_a_batch_without_a_result_is_followed_by_another_one() -> None:
    graph = Graph()
    source = graph.add_source("source")
    first = graph.add(KeepUnlessMultiple(), [source], name="First")
    odd = graph.add(KeepUnlessMultiple(2), [first], name="Odd")
    graph.add_sink("sink", graph.add(KeepUnlessMultiple(), [odd], name="Last"))
    source.output.batch(block(2, 4, 6, 8, 9))
    executor = Executor(graph, rows_per_step=1)
    executor.table.set_strategy(batched(4), [first])
    executor.table.set_strategy(batched(2), [odd])
    names = []
    while (step := executor.step()) is not None:
        names.append(step.node.name)
    # Odd has dropped its first batch of two and goes on, instead of asking First for more rows.
    assert " ".join(names) == "First First First First Odd Odd Odd Odd First Odd Last"


def test_a_limit_cuts_steps_and_no_limit_takes_all() -> None:
    assert order(fed_path(20, "S1"), DEPTH_FIRST, limit=7) == "S1 S1 S1"
    assert order(fed_path(20, "S1"), DEPTH_FIRST, limit=None) == "S1"


def test_parts_with_different_strategies_run_as_each_says() -> None:
    graph = fed_path(2, "S1", "S2", "S3")
    executor = Executor(graph, rows_per_step=1)
    executor.table.set_strategy(BREADTH_FIRST, [graph.nodes["S1"]])
    names = []
    while (step := executor.step()) is not None:
        names.append(step.node.name)
    assert " ".join(names) == "S1 S1 S2 S3 S2 S3"


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [(DEPTH_FIRST, "S1 S1 S2 S2"), (BREADTH_FIRST, "S1 S1 S2 S2")],
    ids=str,
)
def test_fragments_on_both_sides_of_a_break_are_scheduled_separately(
    strategy: Strategy, expected: str
) -> None:
    graph = fed_path(2, "S1", "S2")
    table = SchedulingTable(graph, strategy)
    table.add_break(graph.nodes["S1"])
    executor = Executor(graph, table, rows_per_step=1)
    names = []
    while (step := executor.step()) is not None:
        names.append(step.node.name)
    assert " ".join(names) == expected


Build = Callable[[], Graph]


@pytest.mark.parametrize("build", [lambda: fed_path(5, "S1", "S2"), lambda: fed_union(3, 4)])
def test_batches_of_one_row_are_depth_first(build: Build) -> None:
    assert order(build(), batched(1)) == order(build(), DEPTH_FIRST)
