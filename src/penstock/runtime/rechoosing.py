"""Rechoosing: operators that were chosen by cost are chosen again while they run.

Every so many windows an aggregate is looked at: how many rows and groups it has had, and what that
costs with panes and without (`optimizer/rechoose.py`). Where the other way is faster by enough, it
takes over at the next window to which no row has come. Both run until the windows before that are
answered, which takes one RANGE; so an aggregate is looked at every two RANGEs at most. Answers are
the same throughout, whatever is chosen when; so a host that repeats a batch may choose otherwise.

An aggregate that gets its rows aggregated already stays as it is: little is left to do for it, and
whoever aggregates them does so for the way that was chosen.
"""

from __future__ import annotations

from penstock.kernel.aggregation.driver import IdDriver
from penstock.kernel.aggregation.handover import Handover
from penstock.kernel.aggregation.sgb import SGB
from penstock.kernel.migration.parallel_track import ParallelTrack
from penstock.optimizer import rechoose
from penstock.optimizer.cost.aggregation import Load, groups_for
from penstock.optimizer.cost.costs import Costs
from penstock.optimizer.physical import PhysicalPlan, Plans, walk
from penstock.optimizer.rechoose import Change
from penstock.optimizer.specs import HandoverSpec, ParallelTrackSpec
from penstock.runtime.graph_host import GraphHost
from penstock.runtime.migrating import end_track, has_ended
from penstock.runtime.migrations import HANDOVER, PARALLEL_TRACK, Migration
from penstock.windows import Sliding

#: Windows after which an aggregate is looked at, at least, and how many RANGEs of them.
WINDOWS, RANGES = 16, 2
#: For each row that it has read itself, so many may have come aggregated.
ABSORBED = 1.0


class Rechoosing:
    """Watches the aggregates of one host that were chosen by cost."""

    def __init__(self, host: GraphHost, plans: Plans) -> None:
        self._host = host
        self.follow(plans)

    def follow(self, plans: Plans) -> None:
        """Watch these plans, which the host runs."""
        self.plans = plans
        self._ending, self._changing = rechoose.has_ending(plans), rechoose.is_changing(plans)
        self._watched = [(plan, self._operator(plan)) for plan in rechoose.aggregates(plans)]
        self._absorbed = {plan.id: self._absorbed_by(plan) for plan, _ in self._watched}

    def look(self, costs: Costs) -> bool:
        """Let operators that suit better by now take over; whether any do.

        The host must have run as far as it can.
        """
        change = self._ended() if self._ending else None
        if change is None and not self._changing:
            return self._begins(costs)
        if change is None:
            return False
        track = next(each for each in walk(self.plans.values()) if each.id == change.moved[0])
        if isinstance(track.spec, ParallelTrackSpec):
            end_track(self._host, self.plans, track, change)
        else:
            self._host.change(change)
            how = HANDOVER if isinstance(track.spec, HandoverSpec) else PARALLEL_TRACK
            for query, plan in self.plans.items():
                if track in plan.walk():
                    self._host.migrations.end(query, how, self._host.clock.now())
        self.follow(change.plans)
        return True

    def _begins(self, costs: Costs) -> bool:
        """Let aggregates that suit better take over; whether any do."""
        found = self._chosen(costs)
        if found is None:
            return False
        now, then, first = found
        change = rechoose.begin(self.plans, now, then, first)
        self._host.change(change)
        for query, plan in self.plans.items():
            if change.plans[query] != plan:
                note_handover(
                    self._host, query, (now, then), change, "it is estimated to be faster"
                )
        self.follow(change.plans)
        return True

    def _chosen(self, costs: Costs) -> tuple[PhysicalPlan, PhysicalPlan, int] | None:
        """An aggregate, a better one, and the first window with which that can take over."""
        for plan, operator in self._watched:
            load = seen_by(operator)
            if load is None:
                continue
            own, _ = operator.seen()
            before, now = self._absorbed[plan.id], self._absorbed_by(plan)
            operator.look_anew()
            self._absorbed[plan.id] = now
            if now - before > ABSORBED * own:
                continue
            other = rechoose.other_way(self.plans, plan, load, costs)
            if other is not None:
                return plan, other, operator.first_untouched()
        return None

    def _absorbed_by(self, plan: PhysicalPlan) -> int:
        """The rows that have come aggregated, to it or to its panes."""
        return sum(self._host.graph.nodes[each.id].absorbed for each in (plan, *plan.inputs))

    def _ended(self) -> Change | None:
        return rechoose.end(self.plans, self._is_over, self._are_same)

    def _is_over(self, plan: PhysicalPlan) -> bool:
        """Whether others have taken over, and their buffer can take over from its own."""
        nodes = self._host.graph.nodes
        node, before, after = (nodes[each.id] for each in (plan, *plan.inputs))
        if isinstance(node.operator, ParallelTrack):
            can_go = has_ended(node.operator, before)
        else:
            assert isinstance(node.operator, Handover | SGB)
            can_go = node.operator.can_go
        return can_go and (node.output.empty or after.output.empty)

    def _are_same(self, before: str, after: str) -> bool:
        """Whether nobody misses the first operator if the second is there: both know the same.

        They keep no rows, and whoever reads the first has read all that it has put out.
        """
        node, other = (self._host.graph.nodes[name] for name in (before, after))
        if node.operator is None or other.operator is None or not node.output.empty:
            return False
        states = node.operator.state, other.operator.state
        return states[0].facts() == states[1].facts() and not any(s.holds_rows() for s in states)

    def _operator(self, plan: PhysicalPlan) -> IdDriver:
        operator = self._host.graph.nodes[plan.id].operator
        assert isinstance(operator, IdDriver)
        return operator


def note_handover(
    host: GraphHost,
    query: str,
    aggregates: tuple[PhysicalPlan, PhysicalPlan],
    change: Change,
    reason: str,
    how: str = HANDOVER,
) -> None:
    """An aggregate takes over from another; where no row has come, at once."""
    now, then = aggregates
    names = [each.spec.name for each in aggregates]
    before, after = names if names[0] != names[1] else (now.label, then.label)
    clock = host.clock.now()
    ended = clock if change.moved[1] == then.id else None
    host.migrations.note(Migration(query, how, before, after, reason, clock, ended))


def seen_by(operator: IdDriver) -> Load | None:
    """What has come to an aggregate since it was looked at; None: too little to tell."""
    window, windows = operator.window, operator.state.windows
    assert isinstance(window, Sliding)
    if windows < WINDOWS or windows * window.slide < RANGES * window.range:
        return None
    rows, blocks = operator.seen()
    if not blocks:
        return None
    each = rows / windows
    groups = groups_for(each * window.range / window.slide, operator.state.results / windows)
    return Load(each, rows / blocks, groups, seen=True)
