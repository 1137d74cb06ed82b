"""Lowering: every plan node gets its operators, and equal nodes get them once.

`choose` decides, and refuses what cannot run; `Lowering` builds. It remembers which kernel node
computes which plan node, so a query that comes later hangs itself behind operators that are already
running, and shares their state.
"""

from __future__ import annotations

from penstock.errors import NotExecutable, PenstockBug
from penstock.kernel.graph import Graph
from penstock.kernel.graph import Node as KernelNode
from penstock.lower.lower_aggregate import lower_window_aggregate
from penstock.lower.lower_join import AUTO, lower_window_join
from penstock.lower.lower_ordered import lower_ordered
from penstock.lower.lower_row import lower_project, lower_select
from penstock.lower.lower_union import adapt, lower_union
from penstock.lower.physical import Physical
from penstock.plan import nodes
from penstock.plan.graph import walk


def choose(node: nodes.Node, *, union: str, join: str = AUTO) -> Physical:
    """The operators for one node. `union` and `join` are the settings of those names."""
    match node:
        case nodes.Select():
            return lower_select(node)
        case nodes.Project():
            return lower_project(node)
        case nodes.Union():
            return lower_union(node, union)
        case nodes.WindowAggregate():
            return lower_window_aggregate(node)
        case nodes.WindowJoin():
            return lower_window_join(node, join, union)
        case nodes.Ordered():
            return lower_ordered(node, union)
        case nodes.Source():
            return Physical((), (node.stream.origin.format,), "where rows come in")
    raise PenstockBug(f"no lowering for {type(node).__name__}")


def remark(node: nodes.Node, *, union: str, join: str = AUTO) -> str:
    """What `explain` says of a node: its operators and why, or why there are none."""
    try:
        return str(choose(node, union=union, join=join))
    except NotExecutable as error:
        return error.message


def check_executable(plan: nodes.Node, *, union: str, join: str = AUTO) -> None:
    """Raise NotExecutable if any part of the plan has no operator."""
    for node in walk(plan):
        choose(node, union=union, join=join)


class Lowering:
    """Puts plans into one kernel graph; `sources` are the nodes that streams come in by."""

    def __init__(self, graph: Graph, sources: dict[str, KernelNode]) -> None:
        self._graph = graph
        self._sources = sources
        self._built: dict[tuple[nodes.Node, str, str], KernelNode] = {}

    def lower(self, plan: nodes.Node, *, union: str, join: str = AUTO) -> KernelNode:
        """The kernel node that gives the plan's answer, built or found."""
        check_executable(plan, union=union, join=join)
        self._forget_removed()
        return self._lower(plan, union, join)

    def _lower(self, plan: nodes.Node, union: str, join: str) -> KernelNode:
        if isinstance(plan, nodes.Source):
            return self._sources[plan.stream.name]
        key = (plan, union, join)
        if key in self._built:
            return self._built[key]
        inputs = (
            tuple(adapt(part, plan) for part in plan.parts)
            if isinstance(plan, nodes.Union)
            else plan.inputs
        )
        below = [self._lower(node, union, join) for node in inputs]
        physical = choose(plan, union=union, join=join)
        for build in physical.operators:
            node = self._graph.add(build(), below)
            below = [node]
        self._built[key] = below[0]
        return below[0]

    def _forget_removed(self) -> None:
        alive = set(map(id, self._graph.nodes.values()))
        self._built = {key: node for key, node in self._built.items() if id(node) in alive}
