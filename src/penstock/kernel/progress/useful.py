"""Which bounds that follow from a source's rows have a use.

How finely bounds are used, whatever they follow from: see `describe`.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.kernel.graph import GraphNode
from penstock.kernel.progress.describe import grain_behind
from penstock.model.timestamps import END


def useful(node: GraphNode, columns: Iterable[str]) -> frozenset[str]:
    """Those of a source's columns whose bounds are of use where they follow from its rows.

    They are never END, so one who uses only that has no use for them.
    """
    grains = {on: grain_behind(node, on, rows_tell=True) for on in columns}
    return frozenset(
        on for on, grain in grains.items() if grain is None or any(g.step < END for g in grain)
    )


def downstream(node: GraphNode) -> list[GraphNode]:
    """Everything that a node feeds, directly or not, each once."""
    found: dict[GraphNode, None] = {}
    frontier = [node]
    while frontier:
        for consumer in frontier.pop().consumers:
            if consumer not in found:
                found[consumer] = None
                frontier.append(consumer)
    return list(found)


def upstream(*nodes: GraphNode) -> set[GraphNode]:
    """Nodes and everything that feeds them."""
    found: set[GraphNode] = set()
    frontier = list(nodes)
    while frontier:
        node = frontier.pop()
        if node not in found:
            found.add(node)
            frontier += node.producers
    return found


def waiting_prone(source: GraphNode) -> list[GraphNode]:
    """The operators that may hold something until a stream says how far it is."""
    return [
        node
        for node in downstream(source)
        if node.operator is not None and node.operator.idle_waiting_prone
    ]


def is_awaited(behind: Iterable[GraphNode]) -> bool:
    """Whether one of these operators holds something now."""
    return any(node.operator is not None and node.operator.waits(node.inputs) for node in behind)
