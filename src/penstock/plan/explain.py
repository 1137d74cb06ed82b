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

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from penstock.plan.graph import walk
from penstock.plan.nodes import Node, Source

Part = TypeVar("Part", bound=Hashable)


def explain(plan: Node) -> str:
    """One plan as text."""
    return "\n".join(_outline([plan]).lines(plan))


def explain_graph(queries: Mapping[str, Node]) -> str:
    """All queries as text, with what they share written once."""
    outline = _outline(queries.values())
    return "\n\n".join(
        "\n".join([f"Query {name}", *outline.lines(plan, 1)]) for name, plan in queries.items()
    )


class Outline(Generic[Part]):
    """Writes each part with what is below it; those that have a number once, then the number.

    `shown` gives the lines of a part, and what stands below them.
    """

    def __init__(
        self,
        numbers: Mapping[Part, int],
        shown: Callable[[Part], tuple[Iterable[str], Iterable[Part]]],
    ) -> None:
        self._numbers = numbers
        self._shown = shown
        self._written: set[Part] = set()

    def lines(self, part: Part, depth: int = 0) -> Iterator[str]:
        indent = "  " * depth
        number = self._numbers.get(part)
        lead = "" if number is None else f"#{number} "
        if number is not None and part in self._written:
            yield f"{indent}{lead}(above)"
            return
        self._written.add(part)
        texts, below = self._shown(part)
        for text in texts:
            yield f"{indent}{lead}{text}"
            lead = ""
        for each in below:
            yield from self.lines(each, depth + 1)


def _outline(plans: Iterable[Node]) -> Outline[Node]:
    plans = list(plans)
    return Outline(_numbered(plans), lambda node: ([node.label], node.children))


def _numbered(plans: list[Node]) -> dict[Node, int]:
    """A number for each sub-plan that occurs more than once; only the largest of them get one."""
    times = Counter((*plans, *(below for node in walk(*plans) for below in node.children)))
    order = [node for plan in plans for node in reversed(walk(plan))]
    # A source is one line anyway: a number would say less than its name.
    again = [n for n in dict.fromkeys(order) if times[n] > 1 and not isinstance(n, Source)]
    return {node: number for number, node in enumerate(again, start=1)}
