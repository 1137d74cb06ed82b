"""The query graph: all standing queries as one graph, equal sub-plans drawn once.

Nodes compare by content, so whatever two queries have in common is one node here, with several
consumers. A connected *component* is what must be scheduled together; queries in different
components have nothing to do with each other.  Spec: execution-model 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from penstock.model.streams import Stream
from penstock.plan.nodes import Node, Source


@dataclass(frozen=True)
class QueryGraph:
    """Plans by query name, and their distinct nodes, inputs before consumers."""

    queries: Mapping[str, Node]
    nodes: tuple[Node, ...] = field(init=False)

    def __post_init__(self) -> None:
        found: dict[Node, None] = {}
        for plan in self.queries.values():
            for node in walk(plan):
                found.setdefault(node)
        object.__setattr__(self, "nodes", tuple(found))

    def readers(self, node: Node) -> list[Node | str]:
        """Who reads a node: other nodes, and queries by name."""
        consumers: list[Node | str] = [other for other in self.nodes if node in other.children]
        return consumers + [name for name, plan in self.queries.items() if plan == node]

    def shared(self) -> list[Node]:
        """Nodes with more than one reader."""
        return [node for node in self.nodes if len(self.readers(node)) > 1]

    def components(self) -> list[list[str]]:
        """Names of the queries that hang together, through whatever they share."""
        groups: list[tuple[set[Node], list[str]]] = []
        for name, plan in self.queries.items():
            nodes = set(walk(plan))
            names = [name]
            apart = []
            for other_nodes, other_names in groups:
                if nodes & other_nodes:
                    nodes |= other_nodes
                    names = other_names + names
                else:
                    apart.append((other_nodes, other_names))
            groups = [*apart, (nodes, names)]
        return [names for _, names in groups]


def walk(plan: Node) -> Iterator[Node]:
    """Every distinct node of a plan, inputs before consumers."""
    seen: set[Node] = set()

    def visit(node: Node) -> Iterator[Node]:
        if node not in seen:
            seen.add(node)
            for below in node.children:
                yield from visit(below)
            yield node

    return visit(plan)


def streams_of(plan: Node) -> dict[str, Stream]:
    """The streams that a plan reads, by name."""
    return {node.stream.name: node.stream for node in walk(plan) if isinstance(node, Source)}
