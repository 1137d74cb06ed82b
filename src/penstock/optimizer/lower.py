"""Lowering: every plan node gets its operators, and equal nodes get them once.

`choose` decides, and refuses what cannot run; `Lowering` builds. It remembers which kernel node
computes which plan node, so a query that comes later hangs itself behind operators that are already
running, and shares their state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.errors import NotExecutable, PenstockBug
from penstock.kernel.aggregation.panes.pane_store import PaneStore
from penstock.kernel.aggregation.up_to_last_row import UpToLastRow
from penstock.kernel.graph import Graph
from penstock.kernel.graph import Node as KernelNode
from penstock.kernel.joins.window_join import WindowJoin
from penstock.kernel.operators.meld import Meld
from penstock.kernel.operators.tag import Tag
from penstock.optimizer.lower_aggregate import (
    goes_beyond_rows,
    lower_window_aggregate,
    watches_sources,
)
from penstock.optimizer.lower_join import inputs_of, lower_window_join
from penstock.optimizer.lower_ordered import lower_ordered
from penstock.optimizer.lower_panes import (
    Shared,
    paned,
    reader,
    shared_of,
    store_of,
    suits,
    wanted_by,
)
from penstock.optimizer.lower_row import lower_project, lower_select
from penstock.optimizer.lower_table_join import lower_table_join
from penstock.optimizer.lower_union import adapt, lower_union
from penstock.optimizer.physical import AUTO, Physical
from penstock.optimizer.rules.joint_punctuation import asked_for_pairs
from penstock.plan import nodes
from penstock.plan.graph import walk
from penstock.windows import Sliding


def choose(node: nodes.Node, *, union: str, join: str = AUTO, aggregation: str = AUTO) -> Physical:
    """The operators for one node. The others are the settings of those names."""
    match node:
        case nodes.Select():
            return lower_select(node)
        case nodes.Project():
            return lower_project(node)
        case nodes.Union():
            return lower_union(node, union)
        case nodes.WindowAggregate():
            return lower_window_aggregate(node, aggregation)
        case nodes.WindowJoin():
            return lower_window_join(node, join, union)
        case nodes.TableJoin():
            return lower_table_join(node)
        case nodes.Ordered():
            return lower_ordered(node, union)
        case nodes.Table():
            return Physical((), ("static table",), "read once, before streams begin")
        case nodes.Source():
            return Physical((), (node.stream.origin.format,), "where rows come in")
    raise PenstockBug(f"no lowering for {type(node).__name__}")


def remark(node: nodes.Node, *, union: str, join: str = AUTO, aggregation: str = AUTO) -> str:
    """What `explain` says of a node: its operators and why, or why there are none."""
    try:
        physical = choose(node, union=union, join=join, aggregation=aggregation)
    except NotExecutable as error:
        return error.message
    if isinstance(node, nodes.WindowAggregate) and goes_beyond_rows(node):
        physical = replace(physical, names=(*physical.names, UpToLastRow.__name__))
    return str(physical)


def check_executable(
    plan: nodes.Node, *, union: str, join: str = AUTO, aggregation: str = AUTO
) -> None:
    """Raise NotExecutable if any part of the plan has no operator."""
    for node in walk(plan):
        choose(node, union=union, join=join, aggregation=aggregation)


class Lowering:
    """Puts plans into one kernel graph; `sources` are the nodes that streams come in by."""

    def __init__(self, graph: Graph, sources: dict[str, KernelNode]) -> None:
        self._graph = graph
        self._sources = sources
        self._built: dict[tuple[nodes.Node, str, str, str], KernelNode] = {}
        self._stores: dict[tuple[Shared, str, str], list[tuple[KernelNode, PaneStore]]] = {}
        self._expected: dict[Shared, list[nodes.WindowAggregate]] = {}

    def expect(self, plans: Iterable[nodes.Node], *, aggregation: str = AUTO) -> None:
        """Say what will be lowered together, so that it can share panes."""
        for plan in plans:
            for node in walk(plan):
                if not isinstance(node, nodes.WindowAggregate):
                    continue
                for part in node.apart:
                    if paned(part, aggregation) is not None:
                        self._expected.setdefault(shared_of(part), []).append(part)

    def lower(
        self, plan: nodes.Node, *, union: str, join: str = AUTO, aggregation: str = AUTO
    ) -> KernelNode:
        """The kernel node that gives the plan's answer, built or found."""
        check_executable(plan, union=union, join=join, aggregation=aggregation)
        self._forget_removed()
        node = self._lower(plan, union, join, aggregation)
        for asked in asked_for_pairs(plan):
            built = self._built.get((asked, union, join, aggregation))
            operator = None if built is None else built.operator
            # Those that hold results back cannot promise that they are out.
            if isinstance(operator, WindowJoin) and operator.tactic.is_plain:
                operator.promises_pairs = True
        return node

    def _lower(self, plan: nodes.Node, union: str, join: str, aggregation: str) -> KernelNode:
        if isinstance(plan, nodes.Source):
            return self._sources[plan.stream.name]
        key = (plan, union, join, aggregation)
        if key in self._built:
            return self._built[key]
        inputs = plan.children
        if isinstance(plan, nodes.Union):
            inputs = tuple(adapt(part, plan) for part in plan.parts)
        elif isinstance(plan, nodes.WindowJoin):
            inputs = inputs_of(plan, join)
        elif isinstance(plan, nodes.WindowAggregate) and plan.has_several_windows:
            inputs = plan.apart
        if watches_sources(plan, union, aggregation):
            below = [self._tagged_union(plan.children[0], union, join, aggregation)]
        else:
            below = [self._lower(node, union, join, aggregation) for node in inputs]
        physical = choose(plan, union=union, join=join, aggregation=aggregation)
        if isinstance(plan, nodes.WindowAggregate) and paned(plan, aggregation) is not None:
            node, store = self._store(plan, below[0], (union, join), store_of(aggregation))
            below = [self._graph.add(reader(store, plan), [node])]
        for build in physical.operators:
            node = self._graph.add(build(), below)
            below = [node]
        if isinstance(plan, nodes.WindowAggregate) and goes_beyond_rows(plan):
            assert isinstance(plan.window, Sliding)
            counted = self._lower(plan.input, union, join, aggregation)
            below = [self._graph.add(UpToLastRow(plan.window), [*below, counted])]
        self._built[key] = below[0]
        return below[0]

    def _tagged_union(
        self, plan: nodes.Node, union: str, join: str, aggregation: str
    ) -> KernelNode:
        """A union whose rows say by which input they came."""
        assert isinstance(plan, nodes.Union)
        parts = [self._lower(adapt(part, plan), union, join, aggregation) for part in plan.parts]
        tagged = [self._graph.add(Tag(number), [part]) for number, part in enumerate(parts)]
        return self._graph.add(Meld(len(parts)), tagged)

    def _store(
        self,
        plan: nodes.WindowAggregate,
        below: KernelNode,
        settings: tuple[str, str],
        of: type[PaneStore],
    ) -> tuple[KernelNode, PaneStore]:
        """A store of panes that suits the aggregate, built or found."""
        shared = shared_of(plan)
        stores = self._stores.setdefault((shared, *settings), [])
        for node, store in stores:
            if type(store) is of and suits(store, plan):
                return node, store
        store = wanted_by([plan, *self._expected.get(shared, ())]).store(of, plan.groups)
        node = self._graph.add(store, [below])
        stores.append((node, store))
        return node, store

    def _forget_removed(self) -> None:
        alive = set(map(id, self._graph.nodes.values()))
        for stores in self._stores.values():
            stores[:] = [(node, store) for node, store in stores if id(node) in alive]
        self._built = {key: node for key, node in self._built.items() if id(node) in alive}
