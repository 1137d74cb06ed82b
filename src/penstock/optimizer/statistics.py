"""Statistics: what is known of streams and of the machine when operators are chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.optimizer.cost.aggregation import Load
from penstock.optimizer.cost.costs import REFERENCE, Costs
from penstock.optimizer.cost.machine import REFERENCE_MACHINE, Machine
from penstock.optimizer.join_figures import MEASURED, REMEMBERED
from penstock.optimizer.join_statistics import JoinStatistics
from penstock.optimizer.joins.join_tree import JoinTree
from penstock.optimizer.physical import Plans
from penstock.plan import nodes
from penstock.plan.graph import walk
from penstock.windows import Window

SeenBy: TypeAlias = tuple[Window, tuple[str, ...]]
"""What tells aggregates over one stream apart: their window and groups."""
Shared: TypeAlias = tuple[nodes.Node, tuple[str, ...], str]
"""What aggregates have in common that can share panes: input, groups, and the windows' column."""


@dataclass(frozen=True)
class Statistics:
    """Without any, choices depend on the queries alone: so a checkpoint is continued by them.

    That is about aggregates, by `costs`; the shape of a join is chosen by what was measured anyway.
    """

    costs: Costs = REFERENCE
    loads: Mapping[SeenBy, Load] = field(default_factory=dict)
    sharers: Mapping[Shared, int] = field(default_factory=dict)
    join_costs: Costs = REFERENCE
    machine: Machine = REFERENCE_MACHINE
    shapes: Mapping[str, JoinTree] = field(default_factory=dict)  # of joins that run, by `join_key`
    altered: Plans = field(default_factory=dict)  # of queries that run and are to run otherwise
    joins: JoinStatistics = field(default_factory=JoinStatistics)  # of what runs now
    remembered: JoinStatistics = field(default_factory=JoinStatistics)  # of earlier runs

    @property
    def by_source(self) -> tuple[tuple[JoinStatistics, str], ...]:
        """What is known of joins, and where it comes from; the best first."""
        return (self.joins, MEASURED), (self.remembered, REMEMBERED)

    def load(self, node: nodes.WindowAggregate) -> Load:
        """What comes to an aggregate, as a query that runs has seen it, or as it is assumed."""
        return self.loads.get((node.window, node.groups), Load())

    def sharers_of(self, node: nodes.WindowAggregate) -> int:
        """How many windows could share its panes."""
        return max(1, self.sharers.get(_shared(node), 1))


def sharers(plans: Iterable[nodes.Node]) -> Mapping[Shared, int]:
    """How many aggregates of these plans could share panes."""
    return Counter(
        _shared(part)
        for plan in plans
        for node in walk(plan)
        if isinstance(node, nodes.WindowAggregate)
        for part in node.apart
    )


def _shared(node: nodes.WindowAggregate) -> Shared:
    return node.input, node.groups, node.window.on
