"""Logical plans as text: a node a line, inputs indented below their consumer.

A sub-plan that occurs again is written once, under a number, and referred to after that:

    Query a
      WindowAggregate count(*) AS n [RANGE 1 minute, SLIDE 1 minute, WA ts]
        #1 Select len > 100
          Source packets (by ts, ordered)

    Query b
      Project src
        #1 (above)

The text is what the golden files of the tests hold.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.plan.graph import QueryGraph, walk
from penstock.plan.nodes import Node, Source


def explain(plan: Node) -> str:
    """One plan as text."""
    return "\n".join(_Writer(_numbered([plan])).lines(plan, 0))


def explain_graph(graph: QueryGraph) -> str:
    """All queries as text, with what they share written once."""
    writer = _Writer(_numbered(list(graph.queries.values())))
    return "\n\n".join(
        "\n".join([f"Query {name}", *writer.lines(plan, 1)]) for name, plan in graph.queries.items()
    )


def _numbered(plans: list[Node]) -> dict[Node, int]:
    """A number for each sub-plan that occurs more than once; only the largest of them get one."""
    seen: set[Node] = set()
    again: dict[Node, None] = {}

    def visit(node: Node) -> None:
        if node in seen:
            # A source is one line anyway: a number would say less than its name.
            if not isinstance(node, Source):
                again.setdefault(node)
            return
        seen.add(node)
        for below in node.children:
            visit(below)

    for plan in plans:
        visit(plan)
    order = [node for plan in plans for node in reversed(list(walk(plan)))]
    numbered = [node for node in dict.fromkeys(order) if node in again]
    return {node: number for number, node in enumerate(numbered, start=1)}


class _Writer:
    def __init__(self, numbers: dict[Node, int]) -> None:
        self._numbers = numbers
        self._written: set[Node] = set()

    def lines(self, node: Node, depth: int) -> Iterator[str]:
        indent = "  " * depth
        number = self._numbers.get(node)
        if number is not None and node in self._written:
            yield f"{indent}#{number} (above)"
            return
        self._written.add(node)
        lead = f"#{number} " if number is not None else ""
        yield f"{indent}{lead}{node.label}"
        for below in node.children:
            yield from self.lines(below, depth + 1)
