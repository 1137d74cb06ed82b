"""Which promises that follow from a source's rows somebody can use.

Who reads ordered rows learns from the rows themselves how far their stream is, and needs promises
only for what no row says. How finely promises are used, whatever they follow from: see `describe`.
"""

from __future__ import annotations

from penstock.kernel.graph import Node


def useful(node: Node) -> frozenset[str] | None:
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


def downstream(node: Node) -> list[Node]:
    """Everything that a node feeds, directly or not, each once."""
    found: dict[Node, None] = {}
    frontier = [node]
    while frontier:
        for consumer in frontier.pop().consumers:
            if consumer not in found:
                found[consumer] = None
                frontier.append(consumer)
    return list(found)
