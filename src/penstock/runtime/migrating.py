"""Migrating: joins of a running query give way to others, and nobody can tell by the results.

`moving state` (`kernel/migration/moving_state.py`): the new joins get what the old ones keep, and
compute what that lacks; meanwhile nothing comes out. `parallel track`: the new ones begin empty,
beside the old ones, which answer until no result depends on what only they have; `rechoosing`
notices that it is over. The host must have run as far as it can: then nothing is on its way between
joins, which is all the synchronisation there has to be.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

from penstock.errors import NotExecutable, PenstockBug
from penstock.kernel.graph import GraphNode
from penstock.kernel.migration.box import Box, box_of
from penstock.kernel.migration.moving_state import (
    Moved,
    latest_times,
    missing,
    move_states,
    tell_bounds,
)
from penstock.kernel.migration.parallel_track import ParallelTrack
from penstock.optimizer.joins.box import box_below, is_plain, joins_of, shape_of, tested_before
from penstock.optimizer.options import AUTO
from penstock.optimizer.physical import PhysicalPlan, Plans, walk
from penstock.optimizer.rechoose import TAKING_OVER, Change, exchanged
from penstock.optimizer.specs import ParallelTrackSpec
from penstock.plan.graph import distinct
from penstock.runtime.graph_host import GraphHost
from penstock.runtime.migrations import MOVING_STATE, PARALLEL_TRACK, Migration

#: The settings by which it is said how.
MS, PT, PT_PUBLISHED = "ms", "pt", "pt_published"


def migrate(
    host: GraphHost,
    plans: Plans,
    query: str,
    now: PhysicalPlan,
    then: PhysicalPlan,
    how: str = AUTO,
    reason: str = "",
) -> Plans:
    """Have joins give way to others in one query; gives the plans that the host runs then.

    `how` is AUTO, MS, PT or PT_PUBLISHED. NotExecutable if it cannot just now: nothing has changed.
    """
    first = now.inputs[0] if isinstance(now.spec, ParallelTrackSpec) else now
    if then == first:  # the others have not taken over yet: they go again
        change = exchanged([query], plans, now, first)
        host.change(change)
        host.migrations.end(query, PARALLEL_TRACK, host.clock.now())
        return change.plans
    old = _box(host.graph.nodes[first.id])
    joins = _joins_in(then)
    anew = _begun_joins(plans, query, joins)
    latest = latest_times(old)
    there = [host.graph.nodes[each.id] for each in joins if each.id not in anew]
    lacks = missing(old, there)
    left_out = tested_before(first, then) if len(there) < len(joins) else []
    if left_out:  # this query would not miss them, but others may come to share the joins
        raise NotExecutable(
            f"the joins of query `{query}` have left out rows of "
            f"`{left_out[0].rpartition('.')[0]}` that others store, which test conditions later",
            hint=f"SET the option and CREATE OR REPLACE QUERY {query}, which begins anew",
        )
    keeps_order = not (is_plain(first) and is_plain(then))
    if keeps_order and (shared := _shared(plans, query, joins)):
        raise NotExecutable(
            f"query `{query}` would share {then.spec.name} with `{shared}`, which has put out "
            "other results by now",
            hint=f"SET the option and CREATE OR REPLACE QUERY {query}, which begins anew",
        )
    # What is held back by an order goes along; and without rows there is nothing to wait for.
    must_move = keeps_order or not latest
    moves = must_move or (how not in (PT, PT_PUBLISHED) and not lacks)
    if lacks and (must_move or how == MS):
        raise NotExecutable(
            f"the joins of query `{query}` have forgotten rows of `{lacks[0].rpartition('.')[0]}` "
            "that others need for inputs that lag behind",
            hint="ALTER it when all inputs have come as far, or with migration = pt; adapt = "
            "advise keeps such rows",
        )
    begun, clock = time.perf_counter(), host.clock.now()
    track = then
    if not moves:
        why = f"{then.spec.name} takes over from {first.spec.name} when no result needs its rows"
        spec = ParallelTrackSpec(tuple(latest.items()), published=how == PT_PUBLISHED)
        track = PhysicalPlan(spec, (first, then), now.label, why)
    change = _told_apart(plans, query, now, track, then)
    change = replace(change, anew=anew)
    found = Moved()

    def fill(before: Mapping[str, GraphNode]) -> None:
        nonlocal found
        new = _box(host.graph.nodes[then.id])
        take = move_states if moves else tell_bounds
        found = take(old, new, lambda node: _is_kept(node, before, change))

    host.change(change, fill)
    host.migrations.end(query, PARALLEL_TRACK, clock)  # one that had not ended
    host.migrations.note(
        Migration(
            query,
            MOVING_STATE if moves else PARALLEL_TRACK,
            shape_of(first),
            shape_of(then),
            reason,
            clock,
            host.clock.now() if moves else None,
            time.perf_counter() - begun,
            found.by_reference,
            found.sorted_again,
            found.recomputed,
            filtered=found.filtered,
        )
    )
    return change.plans


def _told_apart(
    plans: Plans, query: str, now: PhysicalPlan, track: PhysicalPlan, then: PhysicalPlan
) -> Change:
    """The change; where another query runs the operators above already, these are its twins.

    Both will compute the same, but have put out different parts of it.
    """
    others = {each.id for each in walk(p for name, p in plans.items() if name != query)}
    change = exchanged([query], plans, now, track)
    for twin in count(1):
        if others.isdisjoint(change.renamed.values()):
            return change
        if track is then or not isinstance(track.spec, ParallelTrackSpec):
            track = PhysicalPlan(ParallelTrackSpec(), (then, then), now.label, then.reason)
        assert isinstance(track.spec, ParallelTrackSpec)
        track = replace(track, spec=replace(track.spec, twin=twin))
        change = exchanged([query], plans, now, track)
    raise PenstockBug("numbers have come to an end")


def has_ended(track: ParallelTrack, before: GraphNode) -> bool:
    """Whether the joins of before can go."""
    return track.is_over(_box(before))


def end_track(host: GraphHost, plans: Plans, track: PhysicalPlan, change: Change) -> None:
    """Remove joins that others run beside, and whose rows no result needs any more."""
    operator = host.graph.nodes[track.id].operator
    assert isinstance(operator, ParallelTrack)
    unsaid = operator.unsaid()

    def say(before: Mapping[str, GraphNode]) -> None:
        for punctuation in unsaid:
            host.graph.nodes[track.inputs[1].id].output.append_as_is(punctuation)

    host.change(change, say)
    for query, plan in plans.items():
        if track in plan.walk():
            host.migrations.end(query, PARALLEL_TRACK, host.clock.now())


def _is_kept(node: GraphNode, before: Mapping[str, GraphNode], change: Change) -> bool:
    """Whether an operator was there before, with all that it has to have."""
    return node.name in before and node.name not in change.anew


def _joins_in(plan: PhysicalPlan) -> list[PhysicalPlan]:
    """The joins of a box, below what passes their rows on."""
    box = box_below(plan)
    return [] if box is None else joins_of(box)


def _begun_joins(plans: Plans, query: str, joins: Sequence[PhysicalPlan]) -> frozenset[str]:
    """The joins of a box that are there and have a part of their rows only: they begin anew.

    NotExecutable if another query waits for them to have all.
    """
    whole = set(distinct(plans.values(), _with_all_rows))
    begun = [each for each in joins if each not in whole]
    for other, plan in plans.items():
        if other != query and not set(begun).isdisjoint(plan.walk()):
            raise NotExecutable(
                f"query `{query}` would share joins with `{other}`, which is just changing",
                hint=f"ALTER it when `{other}` has changed",
            )
    return frozenset(each.id for each in begun)


def _shared(plans: Plans, query: str, joins: Sequence[PhysicalPlan]) -> str:
    """Another query that runs joins of a box; empty: none does."""
    others = (name for name in plans if name != query)
    return next((name for name in others if not {*joins}.isdisjoint(plans[name].walk())), "")


def _with_all_rows(plan: PhysicalPlan) -> tuple[PhysicalPlan, ...]:
    """The inputs of an operator that have seen all rows."""
    return plan.inputs[:1] if isinstance(plan.spec, TAKING_OVER) else plan.inputs


def _box(node: GraphNode) -> Box:
    found = box_of(node)
    assert found is not None, f"{node.name} is no join that can be exchanged"
    return found
