"""Which bounds that follow from a source's rows have a use.

A reader of ordered rows knows from the rows themselves how far their stream is, and needs bounds
only for what no row says. How finely bounds are used, whatever they follow from: see `describe`.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.kernel.graph import GraphNode


def useful(node: GraphNode) -> frozenset[str] | None:
    """The attributes of what `node` puts out whose promises are of use; None: all of them."""
    found: frozenset[str] = frozenset()
    for consumer in node.consumers:
        wanted = useful(consumer)
        if consumer.operator is not None and not consumer.is_fork:
            wanted = consumer.operator.useful(wanted)
        if wanted is None:
            return None
        found |= wanted
    return found


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
