"""Measuring: what the joins of a graph are like, and what its operators cost, while it runs.

Meters look at what comes to the inputs of joins (`kernel/statistics/`); they belong to joins as
queries ask for them, and stay when the operators change.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from penstock.kernel.buffer import Buffer, Item
from penstock.kernel.graph import Graph, GraphNode
from penstock.kernel.statistics.cell import Cell
from penstock.kernel.statistics.join_meter import UNHURRIED, JoinMeter
from penstock.kernel.statistics.measured_join import MeasuredJoin
from penstock.kernel.statistics.spent import StepTimes
from penstock.optimizer.join_statistics import JoinStatistics
from penstock.optimizer.measured_joins import measured_joins
from penstock.optimizer.physical import PhysicalPlan, Plans, Queries
from penstock.optimizer.specs import SourceSpec
from penstock.runtime.stream_input import StreamInput


class Measuring:
    """The meters of one host; `inputs` are the ways in to its graph, by stream."""

    def __init__(self, graph: Graph, inputs: Mapping[str, StreamInput]) -> None:
        self.times = StepTimes(time.perf_counter_ns, time.process_time_ns)
        self._graph = graph
        self._inputs = inputs
        self._joins: dict[MeasuredJoin, tuple[PhysicalPlan, ...]] = {}
        self._meters: dict[str, JoinMeter] = {}
        self._tapped: list[tuple[Buffer, Callable[[Item], None]]] = []

    def follow(
        self, queries: Queries, plans: Plans, adapting: Collection[str] | None = None
    ) -> None:
        """Measure the joins of these queries, which the graph computes by these plans.

        Those of queries that are not `adapting` (None: all are) are looked at now and then.
        """
        self._joins = measured_joins(queries, plans)
        known = {join.key: join for join in self._joins}
        kept = {key: meter for key, meter in self._meters.items() if key in known}
        self._meters = {key: kept.get(key) or JoinMeter(join) for key, join in known.items()}
        if adapting is not None and len(adapting) < len(queries):
            some = {name: query for name, query in queries.items() if name in adapting}
            hurried = {join.key for join in measured_joins(some, plans)}
            for key, meter in self._meters.items():
                meter.least = 1 if key in hurried else UNHURRIED
        else:
            for meter in self._meters.values():
                meter.least = 1
        self.rebuild()

    def rebuild(self) -> None:
        """Follow a graph that has changed."""
        for buffer, tap in self._tapped:
            buffer.taps.remove(tap)
        self._tapped = []
        for join, plans in self._joins.items():
            for plan, tap in zip(plans, self._meters[join.key].taps, strict=True):
                node = self._node(plan)
                if node is not None:
                    node.output.taps.append(tap)
                    self._tapped.append((node.output, tap))

    def _node(self, plan: PhysicalPlan) -> GraphNode | None:
        spec = plan.spec
        if not isinstance(spec, SourceSpec):
            return self._graph.nodes.get(plan.id)
        stream = self._inputs.get(spec.stream.name)
        return None if stream is None else stream.node_of_all if spec.with_late else stream.node

    def take_cells(self) -> dict[str, list[Cell]]:
        """By join, the cells that are over since this was asked."""
        found = {key: meter.take_closed() for key, meter in self._meters.items()}
        return {key: cells for key, cells in found.items() if cells}

    def report(self) -> dict[str, Any]:
        """What has come to cells since this was asked, as JSON, for whoever adds up several hosts'.

        Meters that look at every cell and have seen nothing say nothing.
        """
        found = {key: meter.report() for key, meter in self._meters.items()}
        return {
            key: said
            for key, said in found.items()
            if said["parts"] or said["over"] or max(said["looks"][:2]) > 1
        }

    def facts(self) -> dict[str, Any]:
        """What meters go on by that have just reported, as JSON."""
        return {key: meter.facts() for key, meter in self._meters.items()}

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Go on where other meters were."""
        for key, meter in self._meters.items():
            if key in facts:
                meter.restore(facts[key])

    def noted(self, known: JoinStatistics) -> JoinStatistics:
        """What is known, with what the cells say that are over since this was asked."""
        for key, cells in self.take_cells().items():
            known = known.plus(self._meters[key].spec, cells)
        return known

    def so_far(self, known: JoinStatistics) -> JoinStatistics:
        """What is known, and what the cells that are not over say."""
        for meter in self._meters.values():
            known = known.plus(meter.spec, meter.open_cells(), are_over=False)
        return known
