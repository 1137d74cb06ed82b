"""Which promises of a source somebody can use.

A promise about a column that no operator listens to would travel through the whole graph to be
dropped at its end. So the question is asked once, when the graph changes, from the sinks upwards;
sinks themselves use none.  Spec: window-queries 1.4 (Describe drops punctuation that is useless
downstream).
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
