"""The query graph: all continuous queries as one graph, equal sub-plans met once.

Nodes compare by content, so whatever two queries have in common is one node here, with several
consumers.  Spec: execution-model 1.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from penstock.model.streams import Stream
from penstock.plan.nodes import Node, Source

T = TypeVar("T")
Part = TypeVar("Part", bound=Hashable)


def distinct(roots: Iterable[Part], below: Callable[[Part], Iterable[Part]]) -> list[Part]:
    """Everything that roots stand on, and they themselves: each once, what is below it before."""
    found: dict[Part, None] = {}

    def visit(part: Part) -> None:
        if part not in found:
            for each in below(part):
                visit(each)
            found[part] = None

    for root in roots:
        visit(root)
    return list(found)


def walk(*plans: Node) -> list[Node]:
    """Every distinct node of plans, inputs before consumers."""
    return distinct(plans, lambda node: node.children)


def streams_of(*plans: Node) -> dict[str, Stream]:
    """The streams that plans read, by name, with all the computed columns that any of them has."""
    found: dict[str, Stream] = {}
    for stream in (node.stream for node in walk(*plans) if isinstance(node, Source)):
        known = found.get(stream.name)
        found[stream.name] = stream if known is None else known.with_computed(stream.computed)
    return found


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
    plans = list(plans)
    used = {node: frozenset[str]() for node in walk(*plans)}
    used |= {plan: frozenset(plan.schema.names) for plan in plans}
    for node in reversed(used):
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
