"""Graphs: forks that come and go, queries that take their operators along, saving in mid-run."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockBug
from penstock.kernel.graph import Graph, GraphNode
from penstock.kernel.operators.meld import Meld
from penstock.kernel.scheduling.executor import Executor
from penstock.kernel.state import from_ipc
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import END
from tests.kernel.moving import Snapshot
from tests.kernel.scheduling.graphs import (
    KeepUnlessMultiple,
    Plan,
    block,
    build,
    drained,
    expected,
    path,
)

A: Plan = ("source", "a")


def names(nodes: list[GraphNode] | dict[str, GraphNode]) -> list[str]:
    return [node.name for node in nodes] if isinstance(nodes, list) else list(nodes)


def forked(branches: int = 2) -> Graph:
    graph = Graph()
    source = graph.add_source("source")
    for number in range(1, branches + 1):
        name = f"S{number}"
        graph.add_sink(name, graph.add(KeepUnlessMultiple(), [source], name=name))
    return graph


def test_a_second_reader_brings_a_fork() -> None:
    assert names(forked(1).nodes) == ["source", "S1"]
    assert names(forked(2).nodes) == ["source", "Fork source", "S1", "S2"]
    assert names(forked(3).nodes) == ["source", "Fork source", "S1", "S2", "S3"]
    assert names(forked(3).nodes["Fork source"].consumers) == ["S1", "S2", "S3"]


def test_the_fork_goes_with_the_second_last_reader() -> None:
    graph = forked(3)
    graph.remove_sink("S1")
    assert "Fork source" in graph.nodes
    graph.remove_sink("S3")
    assert names(graph.nodes) == ["source", "S2"]
    assert graph.nodes["S2"].producers == [graph.nodes["source"]]
    assert graph.nodes["source"].consumers == [graph.nodes["S2"]]


def test_a_fork_keeps_each_row_once_until_the_slowest_branch_has_passed() -> None:
    graph = forked()
    buffer = graph.nodes["source"].output
    rows = block(1, 2, 3)
    buffer.batch(rows)
    assert graph.nodes["Fork source"].output is buffer
    graph.nodes["S1"].step()
    assert buffer.items == [rows] and graph.queued_rows() == 3 + 3  # and what S1 has put out
    graph.nodes["S2"].step(2)
    assert buffer.rows == 1
    graph.nodes["S2"].step(2)
    assert buffer.items == []


def test_a_fork_put_in_or_taken_out_moves_no_row() -> None:
    graph = forked(1)
    source, first = graph.nodes["source"], graph.nodes["S1"]
    source.output.batch(block(1, 2))
    sink = graph.add_sink("late", graph.add(KeepUnlessMultiple(), [source], name="S2"))
    source.output.batch(block(3))
    graph.nodes["S2"].step()
    assert drained(sink)[0] == [3]
    first.step(1)
    graph.remove_sink("late")
    first.step()
    assert drained(first.sinks["S1"])[0] == [1, 2, 3]


def test_an_operator_may_read_one_producer_twice() -> None:
    graph = Graph()
    source = graph.add_source("source")
    sink = graph.add_sink("sink", graph.add(Meld(2), [source, source]))
    other = graph.add_sink("other", graph.add(KeepUnlessMultiple(), [source]))
    source.output.batch(block(1, 2))
    Executor(graph).run_until_idle()
    assert sorted(drained(sink)[0]) == [1, 1, 2, 2]
    assert drained(other)[0] == [1, 2]


@pytest.mark.parametrize(
    "plan",
    [
        ("meld", ("keep", 2, A), A),
        ("meld", A, ("keep", 2, A)),
        ("meld", A, A),
        ("meld", ("meld", A, ("keep", 2, A)), ("keep", 3, A)),
    ],
    ids=str,
)
def test_a_query_that_goes_takes_all_its_operators_along(plan: Plan) -> None:
    graph = Graph()
    source = graph.add_source("a")
    graph.add_sink("gone", build(graph, plan))
    sink = graph.add_sink("stays", graph.add(KeepUnlessMultiple(), [source], name="Stays"))
    graph.remove_sink("gone")
    assert names(graph.nodes) == ["a", "Stays"]
    source.output.batch(block(1))
    Executor(graph).run_until_idle()
    assert drained(sink)[0] == [1]
    graph.remove_sink("stays")
    assert names(graph.nodes) == ["a"]
    assert source.consumers == [] and source.output.places() == {}


def test_an_operator_that_another_query_needs_stays() -> None:
    graph = path("S1", "S2")
    graph.add_sink("middle", graph.nodes["S1"])
    graph.remove_sink("sink")
    assert names(graph.nodes) == ["source", "S1"]


def test_names_are_made_unique_and_sources_must_be() -> None:
    graph = path("S1")
    assert graph.add(KeepUnlessMultiple(), [graph.nodes["S1"]], name="S1").name == "S1_2"
    with pytest.raises(PenstockBug, match="node `source` exists already"):
        graph.add_source("source")


def test_an_operator_needs_as_many_producers_as_it_has_inputs() -> None:
    graph = Graph()
    with pytest.raises(PenstockBug, match="Meld has 2 inputs, not 1"):
        graph.add(Meld(2), [graph.add_source("a")])


def test_a_sink_that_does_not_exist_cannot_go() -> None:
    with pytest.raises(PenstockBug, match="no sink `x`"):
        path("S1").remove_sink("x")


def test_a_source_goes_once_nothing_reads_it() -> None:
    graph = path("S1")
    with pytest.raises(PenstockBug, match="somebody reads it"):
        graph.remove_source("source")
    graph.remove_sink("sink")
    graph.remove_source("source")
    assert graph.nodes == {}


PLANS: dict[str, Plan] = {
    "union": ("meld", ("keep", 2, A), ("source", "b")),
    "diamond": ("meld", ("keep", 2, A), ("keep", 3, ("keep", 0, A))),
}


def new_graph() -> Graph:
    graph = Graph()
    for source in ("a", "b"):
        graph.add_source(source)
    for name, plan in PLANS.items():
        graph.add_sink(name, build(graph, plan))
    return graph


def push(graph: Graph, pushed: list[tuple[str, int]]) -> None:
    for source, x in pushed:
        graph.nodes[source].output.batch(block(x))
        graph.nodes[source].output.punctuation(Punctuation("x", x))


def answers(graph: Graph) -> dict[str, tuple[list[int], list[Punctuation]]]:
    found = {}
    for node in graph.nodes.values():
        for name, sink in node.sinks.items():
            found[name] = drained(sink)
    return found


@given(
    before=st.lists(st.sampled_from("ab"), max_size=8),
    after=st.lists(st.sampled_from("ab"), max_size=8),
    steps=st.integers(0, 40),
    limit=st.sampled_from([1, 7, None]),
)
def test_a_graph_saved_in_mid_run_goes_on_in_a_new_one(
    before: list[str], after: list[str], steps: int, limit: int | None
) -> None:
    pushed = [(source, x) for x, source in enumerate(before + after)]
    graph = new_graph()
    push(graph, pushed[: len(before)])
    executor = Executor(graph, rows_per_step=limit)
    for _ in range(steps):
        executor.step()
    restored = new_graph()
    Snapshot.of(graph.states(), graph).put_into(restored.states(), restored)
    for each in (graph, restored):
        push(each, pushed[len(before) :])
        for source in ("a", "b"):
            each.nodes[source].output.punctuation(Punctuation("x", END))
        Executor(each, rows_per_step=limit).run_until_idle()
    continued, fresh = answers(graph), answers(restored)
    for name, plan in PLANS.items():
        assert Counter(fresh[name][0]) == expected(plan, pushed)
        assert fresh[name][1][-1] == Punctuation("x", END)
        # The one that was saved has gone on undisturbed.
        assert Counter(continued[name][0]) == expected(plan, pushed)


def test_what_is_saved_is_json_and_bytes_and_each_row_once() -> None:
    graph = forked()
    push_to = graph.nodes["source"].output
    push_to.batch(block(1, 2))
    push_to.punctuation(Punctuation("x", 2))
    graph.nodes["S1"].step(1)
    saved = Snapshot.of(graph.states(), graph)
    buffers = json.loads(saved.directory)["buffers"]
    assert {name: len(kept["items"]) for name, kept in buffers.items()} == {"source": 2, "S1": 1}
    assert sorted(from_ipc(data).height for data in saved.segments.values()) == [1, 2]
