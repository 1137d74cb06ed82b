"""The rows that the specification prints, and how breaks and strategies rewrite them."""

from __future__ import annotations

import pytest

from penstock.errors import BadSetting, PenstockBug
from penstock.kernel.graph import Graph
from penstock.kernel.operators.meld import Meld
from penstock.kernel.scheduling.strategies import (
    BREADTH_FIRST,
    ROUND_ROBIN,
    batched,
    strategy_named,
)
from penstock.kernel.scheduling.table import SchedulingTable
from tests.kernel.scheduling.graphs import KeepUnlessMultiple, path


def forked() -> Graph:
    graph = Graph()
    source = graph.add_source("source")
    for name in ("S1", "S2"):
        graph.add_sink(name, graph.add(KeepUnlessMultiple(), [source], name=name))
    return graph


def union() -> Graph:
    graph = Graph()
    selections = [
        graph.add(KeepUnlessMultiple(), [graph.add_source(source)], name=f"S {source}")
        for source in ("a", "b")
    ]
    graph.add_sink("sink", graph.add(Meld(2), selections, name="U"))
    return graph


def rows(table: SchedulingTable) -> list[str]:
    return str(table).replace("Fork source", "fork").splitlines()


def test_a_path_has_the_rows_of_the_specification() -> None:
    assert rows(SchedulingTable(path("S1", "S2"))) == [
        "(source, -, S1, DFS-Source)",
        "(S1, source, S2, DFS-NOS)",
        "(S2, S1, -, DFS-Sink)",
    ]


def test_a_break_after_s1_makes_two_fragments() -> None:
    graph = path("S1", "S2")
    table = SchedulingTable(graph)
    table.add_break(graph.nodes["S1"])
    assert rows(table) == [
        "(source, -, S1, DFS-Source)",
        "(S1, source, -, DFS-Sink)",
        "(S2, -, -, DFS-Source-Sink)",
    ]
    assert [node.name for node in table.entries] == ["source", "S2"]
    assert table.breaks == {graph.nodes["S1"]}


def test_removing_a_break_restores_the_rows() -> None:
    graph = path("S1", "S2")
    table = SchedulingTable(graph)
    before = str(table)
    table.add_break(graph.nodes["S1"])
    table.remove_break(graph.nodes["S1"])
    assert str(table) == before


def test_a_fork_has_a_row_for_each_branch() -> None:
    assert rows(SchedulingTable(forked())) == [
        "(source, -, fork, DFS-Source)",
        "(fork, source, S1, DFS-Fork)",
        "(fork, source, S2, DFS-Fork)",
        "(S1, fork, -, DFS-Sink)",
        "(S2, fork, -, DFS-Sink)",
    ]


def test_a_break_before_a_fork_lets_it_start_a_fragment() -> None:
    graph = forked()
    table = SchedulingTable(graph)
    table.add_break(graph.nodes["source"])
    assert rows(table) == [
        "(source, -, -, DFS-Source-Sink)",
        "(fork, -, S1, DFS-Fork)",
        "(fork, -, S2, DFS-Fork)",
        "(S1, fork, -, DFS-Sink)",
        "(S2, fork, -, DFS-Sink)",
    ]


def test_a_break_behind_a_fork_makes_every_branch_a_fragment() -> None:
    graph = forked()
    table = SchedulingTable(graph)
    table.add_break(graph.nodes["Fork source"])
    assert rows(table) == [
        "(source, -, -, DFS-Source-Sink)",
        "(S1, -, -, DFS-Source-Sink)",
        "(S2, -, -, DFS-Source-Sink)",
    ]


def test_a_union_names_all_it_may_go_back_to() -> None:
    assert rows(SchedulingTable(union(), BREADTH_FIRST))[-1] == "(U, S a|S b, -, BFS-Sink)"


def test_a_union_behind_a_break_on_one_side_starts_a_fragment_and_ends_another() -> None:
    graph = union()
    table = SchedulingTable(graph)
    table.add_break(graph.nodes["S b"])
    assert rows(table)[-1] == "(U, S a|-, -, DFS-Sink)"
    assert [node.name for node in table.entries] == ["a", "b", "U"]


def test_round_robin_cuts_a_graph_into_paths() -> None:
    assert rows(SchedulingTable(union(), ROUND_ROBIN)) == [
        "(a, -, S a, RR-Source)",
        "(S a, a, -, RR-Sink)",
        "(b, -, S b, RR-Source)",
        "(S b, b, -, RR-Sink)",
        "(U, -, -, RR-Source-Sink)",
    ]
    assert rows(SchedulingTable(forked(), ROUND_ROBIN)) == [
        "(source, -, -, RR-Source-Sink)",
        "(S1, -, -, RR-Source-Sink)",
        "(S2, -, -, RR-Source-Sink)",
    ]


def test_parts_of_a_graph_may_have_strategies_of_their_own() -> None:
    graph = path("S1", "S2", "S3")
    table = SchedulingTable(graph)
    table.set_strategy(BREADTH_FIRST, [graph.nodes["S2"]])
    table.set_strategy(batched(7), [graph.nodes["S3"]])
    assert rows(table) == [
        "(source, -, S1, DFS-Source)",
        "(S1, source, S2, DFS-NOS)",
        "(S2, S1, S3, BFS-NOS)",
        "(S3, S2, -, Batch7-Sink)",
    ]
    table.set_strategy(ROUND_ROBIN)
    assert {row.rule.name.split("-")[0] for (row,) in table.rows.values()} == {"RR"}


def test_a_fork_follows_the_strategy_of_its_producer() -> None:
    graph = forked()
    table = SchedulingTable(graph)
    table.set_strategy(BREADTH_FIRST, [graph.nodes["source"]])
    assert rows(table)[:3] == [
        "(source, -, fork, BFS-Source)",
        "(fork, source, S1, BFS-Fork)",
        "(fork, source, S2, BFS-Fork)",
    ]


def test_a_query_that_goes_takes_its_rows_breaks_and_strategies_along() -> None:
    graph = forked()
    table = SchedulingTable(graph)
    gone = graph.nodes["S2"]
    table.add_break(gone)
    table.set_strategy(BREADTH_FIRST, [gone])
    graph.remove_sink("S2")
    table.rebuild()
    assert rows(table) == ["(source, -, S1, DFS-Source)", "(S1, source, -, DFS-Sink)"]
    assert not table.breaks


def test_a_node_of_another_graph_is_refused() -> None:
    table = SchedulingTable(path("S1"))
    with pytest.raises(PenstockBug, match="`S1` is not in the graph"):
        table.add_break(path("S1").nodes["S1"])


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("dfs", "DFS"),
        ("BFS", "BFS"),
        ("round_robin", "RR"),
        ("batched 12", "Batch12"),
        ("batched", "Batch100"),
    ],
)
def test_strategies_are_found_by_name(name: str, prefix: str) -> None:
    assert strategy_named(name).prefix == prefix


@pytest.mark.parametrize("name", ["", "fifo", "batched x", "batched -1"])
def test_an_unknown_strategy_is_an_error_that_names_those_there_are(name: str) -> None:
    with pytest.raises(BadSetting, match="there are: dfs, bfs, round robin, batched N"):
        strategy_named(name)


def test_a_batch_of_no_rows_is_refused() -> None:
    with pytest.raises(BadSetting, match="a batch cannot have 0 rows"):
        strategy_named("batched 0")
