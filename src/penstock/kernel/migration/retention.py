"""Retention: joins of one box keep rows for as long as any of its leaves may need them.

A join of two forgets a row when its own partner can bring no more for it. But results of that row
with rows that came may wait above, for a third input that lags behind; if the joins are exchanged
then, they find what waits there and not the row it was made of:

    ((a, b), c)    a1 and b1 have met, c is late: a1 and b1 are forgotten, a1b1 waits for c
    (a, (b, c))    must have a1 and b1, or c1 comes and finds nobody

So every join keeps a row until no leaf of the whole box can bring a result with it, as one join of
all would do. Then what is kept is enough for every shape. It costs memory only while an input lags
behind others.  Spec: dynamic-optimization 3.2 (old state closure), 3.7.
"""

from __future__ import annotations

from collections.abc import Set

from penstock.errors import PenstockBug
from penstock.kernel.graph import Graph, GraphNode
from penstock.kernel.migration.box import Box, box_of, is_inner, join_at
from penstock.kernel.operators.project import Project
from penstock.kernel.progress.useful import upstream

#: A join of fewer leaves has one shape only.
LEAST = 3


def retain_together(graph: Graph, queries: Set[str]) -> None:
    """Have the joins of these queries keep what other shapes of them need."""
    rules: dict[GraphNode, list[Retained]] = {}
    adapting = upstream(*(n for n in graph.nodes.values() if not queries.isdisjoint(n.sinks)))
    for node in graph.nodes.values():
        if not is_inner(node):
            continue
        rules.setdefault(node, [])
        box = box_of(node) if node in adapting and not _is_within(node) else None
        if box is not None and len(box.leaves) >= LEAST:
            for join in box.joins:
                rules.setdefault(join, []).append(Retained(box, join))
    for node, found in rules.items():
        join_at(node).inputs.retained = found


class Retained:
    """What a box needs of one of its joins."""

    def __init__(self, box: Box, node: GraphNode) -> None:
        self._box = box
        self._inputs = list(box.inputs_of(node))
        self._others = [join_at(each).inputs for each in box.joins if each is not node]

    def keep_from(self, port: int) -> int:
        """First timestamp of an input's rows that a leaf may still need."""
        return self._box.keep_from(self._inputs[port].on, self._inputs[port].leaves)

    def follow(self) -> None:
        """The join knows more of its inputs: others may forget rows that they have kept for it."""
        for inputs in self._others:
            for port in range(inputs.ports):
                before = inputs.state.forgotten[port]
                if before >= inputs.reach.keep_from(port, inputs.state.bounds):
                    continue
                first = inputs.keep_from(port)
                if first <= before:  # another leaf is still behind
                    continue
                for _ in inputs.purge(port, first):
                    raise PenstockBug("an inner join has a row without a partner")


def _is_within(node: GraphNode) -> bool:
    """Whether all that read a join are joins of the same box."""
    readers = node.readers
    if node.sinks or not readers:
        return False
    return all(
        is_inner(each)
        or (isinstance(each.operator, Project) and each.operator.only_drops and _is_within(each))
        for each in readers
    )
