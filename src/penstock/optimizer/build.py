"""Build: the operators of a physical plan in a kernel graph, from their specs alone.

An operator is called by its plan's id, so what is there already is found and not built again: equal
fragments of all queries of a graph are one operator, with one state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from penstock.errors import PenstockBug
from penstock.kernel.aggregation.adapt.adapt_pane_store import AdaptPaneStore
from penstock.kernel.aggregation.adapt.adapt_wid import AdaptWid
from penstock.kernel.aggregation.align_windows import AlignWindows
from penstock.kernel.aggregation.baselines.buffering import Buffering
from penstock.kernel.aggregation.baselines.buffering_incremental import BufferingIncremental
from penstock.kernel.aggregation.handover import Handover
from penstock.kernel.aggregation.panes.pane_store import PaneStore
from penstock.kernel.aggregation.panes.paned_wid import PanedWid
from penstock.kernel.aggregation.partitioned import PartitionedAggregate
from penstock.kernel.aggregation.session import SessionAggregate
from penstock.kernel.aggregation.sgb import SGB
from penstock.kernel.aggregation.two_level.two_level import HighLevel, LowLevel
from penstock.kernel.aggregation.up_to_last_row import UpToLastRow
from penstock.kernel.aggregation.wid.bins import BinsAggregate
from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.aggregation.wid.landmark import LandmarkAggregate
from penstock.kernel.aggregation.wid.revisions import PeriodBucket, RevisingLandmark, RevisingWid
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.kernel.graph import Graph, GraphNode
from penstock.kernel.joins.baselines.global_order import GlobalOrder
from penstock.kernel.joins.sequences.sequence import SequenceJoin
from penstock.kernel.joins.table_join import TableJoin
from penstock.kernel.joins.tactics.adaptive import Adaptive
from penstock.kernel.joins.tactics.filter_order import FilterOrder
from penstock.kernel.joins.tactics.opib import OPIB
from penstock.kernel.joins.tactics.opob import OPOB
from penstock.kernel.joins.tactics.sync_filter import SyncFilter
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.joins.tsm_join import TSM, TSMJoin
from penstock.kernel.joins.window_join import WindowJoin
from penstock.kernel.matching.match_recognize import MatchRecognize
from penstock.kernel.migration.parallel_track import ParallelTrack
from penstock.kernel.operator import Operator
from penstock.kernel.operators.explode import Explode
from penstock.kernel.operators.meld import Meld
from penstock.kernel.operators.merge import Merge
from penstock.kernel.operators.number import Number
from penstock.kernel.operators.order import Order
from penstock.kernel.operators.project import Project
from penstock.kernel.operators.select import Select
from penstock.kernel.operators.tag import Tag
from penstock.optimizer import specs
from penstock.optimizer.physical import PhysicalPlan

#: Operators that are built of what stands in their specs, in its order.
_PLAIN: dict[str, type[Any]] = {
    each.__name__: each
    for each in (
        *(Select, Project, Explode, Number, Meld, Merge, Tag, Order, LowLevel),
        *(AlignWindows, Handover, SGB, ParallelTrack, UpToLastRow, TableJoin, MatchRecognize),
    )
}
#: The operators that a WindowSpec can name, and the tactics of a WindowJoinSpec.
_WINDOWS: dict[str, type[Any]] = {
    each.__name__: each
    for each in (
        *(WidAggregate, LandmarkAggregate, BinsAggregate, PartitionedAggregate, SessionAggregate),
        *(AdaptWid, HighLevel, Buffering, BufferingIncremental, RevisingWid, RevisingLandmark),
    )
}
_TACTICS: dict[str, type[Tactic]] = {
    each.name: each for each in (Tactic, SyncFilter, FilterOrder, TSM, OPOB, OPIB, GlobalOrder)
}


def build(
    plan: PhysicalPlan, graph: Graph, source: Callable[[specs.SourceSpec], GraphNode]
) -> GraphNode:
    """The node that gives the plan's answer, built or found; `source` are those of the streams."""
    if isinstance(plan.spec, specs.SourceSpec):
        return source(plan.spec)
    found = graph.nodes.get(plan.id)
    if found is not None:
        return found
    inputs = [build(below, graph, source) for below in plan.inputs]
    return graph.add(operator_of(plan.spec, inputs), inputs, name=plan.id)


def operator_of(spec: specs.Spec, inputs: Sequence[GraphNode]) -> Operator:
    """The operator that a spec describes; those that read a store are told which."""
    match spec:
        case specs.BucketSpec():
            every = spec.every
            return Bucket(spec.window) if every is None else PeriodBucket(spec.window, every)
        case specs.WindowSpec():
            return _window(spec)
        case specs.PaneStoreSpec():
            store = AdaptPaneStore if spec.adapts else PaneStore
            return store(spec.groups, spec.aggregates, spec.panes)
        case specs.PanedWidSpec():
            panes = inputs[0].operator
            assert isinstance(panes, PaneStore)
            return PanedWid(panes, spec.groups, spec.results, spec.window)
        case specs.WindowJoinSpec():
            return _join(spec)
        case specs.SequenceJoinSpec():
            return SequenceJoin(spec.sequence)
    if spec.name not in _PLAIN:
        raise PenstockBug(f"no operator for {type(spec).__name__}")
    operator: Operator = _PLAIN[spec.name](*(getattr(spec, each.name) for each in fields(spec)))
    return operator


def _window(spec: specs.WindowSpec) -> Operator:
    given: list[Any] = [spec.groups, spec.results, spec.window]
    given += [] if spec.emit is None else [spec.emit]
    algorithm = _WINDOWS[spec.algorithm]
    late = {"consistent": spec.consistent} if issubclass(algorithm, WidAggregate) else {}
    operator: Operator = algorithm(*given, **late)
    return operator


def _join(spec: specs.WindowJoinSpec) -> Operator:
    if spec.alpha is None:
        tactic = _TACTICS[spec.tactic]()
    else:
        tactic = Adaptive(spec.alpha, time.perf_counter)
    if isinstance(tactic, TSM):
        return TSMJoin(spec.join, tactic)
    return WindowJoin(spec.join, tactic, punctuates_pairs=spec.joint)
