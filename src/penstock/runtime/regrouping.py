"""Regrouping: an aggregate above joins gives way to one above joins of aggregates, or back.

`moving state`: what goes below gets the rows that are stored as groups, and everything else goes on
from where it was; the old operators go at once (`optimizer/movable_groups.py`). Where that cannot
be, and with `migration = pt`, the new ones begin empty beside the old ones, and take over with the
first window to which no old row belongs (`optimizer/regroup.py`). With `pt_published` both answer,
each of its own rows, until windows with old rows are over. The host must have run as far as it can.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.kernel.aggregation.driver import IdDriver
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.kernel.graph import GraphNode
from penstock.kernel.migration.box import Box, box_of
from penstock.kernel.migration.grouped_leaf import GroupedLeaf, move_aggregate
from penstock.kernel.migration.moving_state import Moved, latest_times, missing, move_states
from penstock.model.timestamps import BEGINNING
from penstock.optimizer.joins.box import box_below, joins_of
from penstock.optimizer.movable_groups import grouped_leaves, why_not
from penstock.optimizer.physical import PhysicalPlan, Plans
from penstock.optimizer.rechoose import begin_for, begin_in_parts, exchanged
from penstock.optimizer.regroup import (
    joined,
    reach_of,
    streams_of,
    why_not_in_parts,
    window_of_joins,
)
from penstock.runtime.graph_host import GraphHost
from penstock.runtime.migrating import PT, PT_PUBLISHED
from penstock.runtime.migrations import MOVING_STATE, PARALLEL_TRACK, Migration
from penstock.runtime.rechoosing import note_handover
from penstock.windows import Sliding


@dataclass(frozen=True)
class Regrouping:
    """One aggregate with its joins, and what is to take its place in a query."""

    host: GraphHost
    plans: Plans
    query: str
    now: PhysicalPlan
    then: PhysicalPlan
    reason: str = ""

    def carried_out(self, how: str) -> Plans:
        """Have the host change, by `migration = how`; gives the plans that it runs then."""
        why = "" if how in (PT, PT_PUBLISHED) else self._why_not()
        if not why and how not in (PT, PT_PUBLISHED):
            return self._moved()
        if how == PT_PUBLISHED:
            why = why_not_in_parts(self.now, self.then, self.plans[self.query])
            newest = self._newest()
            if not why and newest > BEGINNING:
                return self._in_parts(newest)
        change = begin_for([self.query], self.plans, self.now, self.then, self._first(), why)
        self.host.change(change)
        reason = "; ".join(filter(None, (self.reason, why)))
        note_handover(self.host, self.query, (self.now, self.then), change, reason)
        return change.plans

    def _why_not(self) -> str:
        """Why state cannot move; empty: it can."""
        found = why_not(self.now, self.then, self.plans.values())
        if found:
            return found
        nodes = self.host.graph.nodes
        stay = [nodes[each.id] for each in self._joins_of(self.then) if each.id in nodes]
        forgotten = missing(self._box(self.now), stay)
        return f"rows of `{forgotten[0].rpartition('.')[0]}` are forgotten" if forgotten else ""

    def _moved(self) -> Plans:
        """Fill the new operators with what the old ones keep."""
        host, now, then = self.host, self.now, self.then
        started, clock = time.perf_counter(), host.clock.now()
        change = exchanged([self.query], self.plans, now, then)
        grouped = grouped_leaves(now, then)
        assert grouped is not None
        [leaf] = grouped
        old, aggregate = self._box(now), self._aggregate(now)
        found, partials = Moved(), 0

        def fill(before: Mapping[str, GraphNode]) -> None:
            nonlocal found, partials
            partials = move_aggregate(aggregate, self._aggregate(then))
            new = self._box(then)
            found = move_states(
                old, new, lambda node: node.name in before, GroupedLeaf(new.leaves[leaf])
            )

        host.change(change, fill)
        pause = time.perf_counter() - started
        host.migrations.note(
            Migration(
                self.query,
                MOVING_STATE,
                now.label,
                then.label,
                self.reason,
                clock,
                host.clock.now(),
                pause,
                found.by_reference + partials,
                found.sorted_again,
                found.recomputed,
            )
        )
        return change.plans

    def _in_parts(self, newest: int) -> Plans:
        """Let the old operators have the rows of windows of joins that have begun."""
        band = window_of_joins(self.now)
        assert band is not None
        moment = newest - (newest - band.origin) % band.width + band.width
        change = begin_in_parts(self.query, self.plans, self.now, self.then, moment)
        self.host.change(change)
        both = self.now, self.then
        note_handover(self.host, self.query, both, change, self.reason, PARALLEL_TRACK)
        return change.plans

    def _newest(self) -> int:
        """The latest time of a row; some may have come to joins below, and not to the aggregate."""
        streams = (self.host.inputs[name] for name in streams_of(self.now))
        return max(max(stream.latest().values()) for stream in streams)

    def _first(self) -> int:
        """The first window to whose results no row belongs that came before."""
        operator = self.host.graph.nodes[self.now.id].operator
        assert isinstance(operator, IdDriver) and isinstance(operator.window, Sliding)
        first = operator.first_untouched()
        newest = self._newest()
        if box_below(joined(self.now)) is not None:  # whose times may be computed
            newest = max([newest, *latest_times(self._box(self.now)).values()])
        if newest == BEGINNING:
            return first
        return max(first, operator.window.wid_range(newest + reach_of(self.now, self.then))[1])

    def _aggregate(self, plan: PhysicalPlan) -> WidAggregate:
        operator = self.host.graph.nodes[plan.id].operator
        assert isinstance(operator, WidAggregate)
        return operator

    def _joins_of(self, plan: PhysicalPlan) -> list[PhysicalPlan]:
        box = box_below(plan.inputs[0].inputs[0])
        assert box is not None
        return joins_of(box)

    def _box(self, plan: PhysicalPlan) -> Box:
        """The joins below an aggregate."""
        found = box_of(self.host.graph.nodes[self._joins_of(plan)[-1].id])
        assert found is not None
        return found
