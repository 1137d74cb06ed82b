"""The query graph: all continuous queries as one graph, equal sub-plans drawn once.

Nodes compare by content, so whatever two queries have in common is one node here, with several
consumers. A connected *component* is what must be scheduled together; queries in different
components have nothing to do with each other.  Spec: execution-model 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from penstock.model.streams import Stream
from penstock.plan.nodes import Node, Source

T = TypeVar("T")


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


def below(node: Node, column: str) -> list[tuple[Node, str]]:
    """The children's columns that a column of a node is taken from."""
    return [(node.children[each.child], each.column) for each in node.lineage(column)]


def trace(node: Node, column: str, until: type[T]) -> tuple[T, str] | None:
    """The first node of a kind down the way on which a column is passed on, and its name there.

    None: before any is met the column is computed, or rows of several inputs come together.
    """
    while not isinstance(node, until):
        found = below(node, column)
        if len(node.children) != 1 or not found:
            return None
        node, column = found[0]
    return node, column


def columns_used(
    plans: Iterable[Node],
    reads: Callable[[Node, frozenset[str]], tuple[frozenset[str], ...]] = lambda n, u: n.reads(u),
) -> dict[Node, frozenset[str]]:
    """The columns of every node that somebody reads, where of the plans' own all are read."""
    graph = QueryGraph({str(number): plan for number, plan in enumerate(plans)})
    used = {node: frozenset[str]() for node in graph.nodes}
    for plan in graph.queries.values():
        used[plan] = frozenset(plan.schema.names)
    for node in reversed(graph.nodes):
        for child, columns in zip(node.children, reads(node, used[node]), strict=True):
            used[child] |= columns
    return used


def fold(plan: Node, make: Callable[[Node, tuple[T, ...]], T]) -> T:
    """What is made of a plan from its inputs up; equal nodes are asked once."""
    made: dict[Node, T] = {}
    for node in walk(plan):
        made[node] = make(node, tuple(made[child] for child in node.children))
    return made[plan]


def rewrite(plan: Node, change: Callable[[Node], Node]) -> Node:
    """The plan with every node changed, inputs before consumers."""
    return fold(plan, lambda node, children: change(node.with_children(children)))
