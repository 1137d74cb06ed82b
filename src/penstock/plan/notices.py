"""Notices about a file of statements that is valid, but may not do what its author wants.

nothing in it      an empty file, or comments only
no query           streams are declared, and no query reads them
gaps               SLIDE longer than RANGE: rows between two windows belong to none
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.plan.graph import walk
from penstock.plan.nodes import Node, WindowAggregate
from penstock.windows import Sliding
from penstock.windows.window import format_length


def notices(statements: int, queries: Mapping[str, Node], *, shown: bool = False) -> list[str]:
    """About a file of so many statements that declares these queries.

    `shown`: it has shown something by itself, such as EXPLAIN.
    """
    if not statements:
        return ["there are no statements: nothing to run"]
    if not queries:
        if shown:
            return []
        return ["no query is declared, so nothing runs: add a SELECT or CREATE QUERY ... AS"]
    return [line for name, plan in queries.items() for line in _gaps(name, plan)]


def _gaps(query: str, plan: Node) -> list[str]:
    found = {
        window
        for node in walk(plan)
        if isinstance(node, WindowAggregate)
        for window in (node.window, *(result.window for result in node.results))
        if isinstance(window, Sliding) and window.has_gaps
    }
    return [
        f"query `{query}`: SLIDE {format_length(window.slide, window.unit)} is longer than RANGE "
        f"{format_length(window.range, window.unit)}: rows between two windows are in no result"
        for window in sorted(found, key=str)
    ]
