"""The enhanced query graph: a graph with its ETS arcs.

For each pair of a source or idle-waiting-prone operator and the next such operator behind it, an
arc to that one's register. Forks and operators that only translate bounds lie between and are
skipped.  Spec: execution-model 5.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.kernel.buffer import Cursor
from penstock.kernel.graph import Graph, GraphNode
from penstock.kernel.operators.select import Select
from penstock.kernel.progress.arcs import Arc, Translate


def draw_arcs(graph: Graph) -> None:
    """Give every node its arcs, as the graph is now."""
    for node in graph.nodes.values():
        node.arcs = list(_arcs(node, (), ())) if _has_arcs(node) else []


def erase_arcs(graph: Graph) -> None:
    """Let bounds travel as punctuation again; registers that are active still count."""
    for node in graph.nodes.values():
        node.arcs = []


def _has_arcs(node: GraphNode) -> bool:
    if node.is_fork:
        return False
    return node.operator is None or node.operator.idle_waiting_prone


def _arcs(
    node: GraphNode, readers: tuple[Cursor, ...], translations: tuple[Translate, ...]
) -> Iterator[Arc]:
    """The arcs that lead on from `node`; `readers` and `translations` are those before it."""
    for consumer in node.consumers:
        if consumer.is_fork:
            yield from _arcs(consumer, readers, translations)
            continue
        operator = consumer.operator
        assert operator is not None  # sources consume nothing
        for port, cursor in enumerate(consumer.inputs):
            if cursor.buffer is not node.output:
                continue
            passed = (*readers, cursor)
            if operator.idle_waiting_prone:
                yield Arc(consumer, port, passed, translations)
            elif isinstance(operator, Select):  # changes nothing about a bound
                yield from _arcs(consumer, passed, translations)
            else:
                yield from _arcs(consumer, passed, (*translations, operator.translate))
