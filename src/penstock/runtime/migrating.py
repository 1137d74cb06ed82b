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
from contextlib import suppress
from dataclasses import replace
from itertools import count

from penstock.errors import NotExecutable
from penstock.kernel.graph import GraphNode
from penstock.kernel.migration.box import Box, box_of
from penstock.kernel.migration.moving_state import (
    Moved,
    begin_empty,
    latest_times,
    missing,
    move_states,
)
from penstock.kernel.migration.parallel_track import ParallelTrack
from penstock.optimizer.joins.box import (
    box_below,
    is_plain,
    joins_of,
    not_stored,
    shape_of,
    tested_before,
    twin_of,
)
from penstock.optimizer.options import AUTO
from penstock.optimizer.physical import PhysicalPlan, Plans, walk
from penstock.optimizer.rechoose import TAKING_OVER, Change, told_apart
from penstock.optimizer.specs import HandoverSpec, ParallelTrackSpec, SGBSpec
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
    first = _first(now)
    if then == first:  # the others have not taken over yet: they go again
        change = told_apart([query], plans, now, first)
        host.change(change)
        host.migrations.end(query, PARALLEL_TRACK, host.clock.now())
        return change.plans
    if is_plain(first) and is_plain(then):
        return _exchange(host, plans, query, now, then, how, reason)
    own = _own(plans, query, then)
    plans = _exchange(host, plans, query, now, own, how, reason)
    if own != then and is_plain(then):
        # Nothing is held back any more: joins that another query runs serve from now on.
        runs = next(each for each in reversed(plans[query].walk()) if _first(each) == own)
        with suppress(NotExecutable):
            return _exchange(host, plans, query, runs, then)
    return plans


def _exchange(
    host: GraphHost,
    plans: Plans,
    query: str,
    now: PhysicalPlan,
    then: PhysicalPlan,
    how: str = AUTO,
    reason: str = "",
) -> Plans:
    """The same, for joins that hold nothing back, or that no other query runs."""
    first = _first(now)
    keeps_order = not (is_plain(first) and is_plain(then))
    old = _box(host.graph.nodes[first.id])
    joins = _joins_in(then)
    whole, begun = _joins_there(plans, query, joins)
    nodes, latest = host.graph.nodes, latest_times(old)
    there = [nodes[each.id] for each in (*whole, *begun)]
    lacks = missing(old, there, [nodes[each.id] for each in begun])
    anew = frozenset(each.id for each in joins if each not in whole and each not in begun)
    left_out = tested_before(first, then) if len(there) < len(joins) else []
    if left_out:  # this query would not miss them, but others may come to share the joins
        raise NotExecutable(
            f"the joins of query `{query}` have left out rows of "
            f"`{left_out[0].rpartition('.')[0]}` that others store, which test conditions later",
            hint=f"SET the option and CREATE OR REPLACE QUERY {query}, which begins anew",
        )
    columns = not_stored(first, then) if len(there) < len(joins) else []
    # What is held back by an order goes along; and without rows there is nothing to wait for.
    can_move = not lacks and not columns
    moves = keeps_order or (can_move and (how not in (PT, PT_PUBLISHED) or not latest))
    if not can_move and (keeps_order or (how == MS and latest)):
        raise _not_movable(query, next(iter(begun.values()), ""), columns, lacks)
    started, clock = time.perf_counter(), host.clock.now()
    track = then
    if not moves:
        why = f"{then.spec.name} takes over from {first.spec.name} when no result needs its rows"
        spec = ParallelTrackSpec(tuple(latest.items()), published=how == PT_PUBLISHED)
        track = PhysicalPlan(spec, (first, then), now.label, why)
    change = replace(told_apart([query], plans, now, track), anew=anew)
    found = Moved()

    def fill(before: Mapping[str, GraphNode]) -> None:
        nonlocal found
        new = _box(host.graph.nodes[then.id])
        take = move_states if moves else begin_empty
        found = take(old, new, lambda node: _is_kept(node, before, change))

    host.change(change, fill)
    host.migrations.end(query, PARALLEL_TRACK, clock)  # one that had not ended
    if twin_of(first, 0) == then:  # only whose joins they are has changed
        return change.plans
    host.migrations.note(
        Migration(
            query,
            MOVING_STATE if moves else PARALLEL_TRACK,
            shape_of(first),
            shape_of(then),
            reason,
            clock,
            host.clock.now() if moves else None,
            time.perf_counter() - started,
            found.by_reference,
            found.sorted_again,
            found.recomputed,
            filtered=found.filtered,
        )
    )
    return change.plans


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


def _joins_there(
    plans: Plans, query: str, joins: Sequence[PhysicalPlan]
) -> tuple[list[PhysicalPlan], dict[PhysicalPlan, str]]:
    """The joins of a box that run already: with all their rows, or as others have begun them.

    Those know which rows they lack, and stand with a query that waits for them. One that nobody
    else waits for can begin anew. NotExecutable where joins do not know it.
    """
    whole = set(distinct(plans.values(), _with_all_rows))
    known = set(distinct(plans.values(), _that_know_what_they_lack))
    begun: dict[PhysicalPlan, str] = {}
    for other, plan in plans.items():
        used = set(joins).intersection(plan.walk()) - whole if other != query else set()
        if not used <= known:
            raise _just_changing(query, other)
        begun |= dict.fromkeys(used, other)
    return [each for each in joins if each in whole], begun


def _not_movable(
    query: str, waiting: str, columns: Sequence[str], lacks: Sequence[str]
) -> NotExecutable:
    """Why joins cannot get the rows that others store, and what to do."""
    if waiting:
        return _just_changing(query, waiting)
    if columns:
        return NotExecutable(
            f"the joins of query `{query}` have not stored `{columns[0]}`, which is to be shared "
            "with other queries",
            hint="ALTER it by itself, or with migration = pt",
        )
    return NotExecutable(
        f"the joins of query `{query}` have forgotten rows of `{lacks[0].rpartition('.')[0]}` "
        "that others need for inputs that lag behind",
        hint="ALTER it when all inputs have come as far, or with migration = pt; adapt = "
        "advise keeps such rows",
    )


def _just_changing(query: str, other: str) -> NotExecutable:
    return NotExecutable(
        f"query `{query}` would share joins with `{other}`, which is just changing: they do not "
        "have all rows yet",
        hint=f"ALTER it with migration = auto or pt; or when `{other}` has changed",
    )


def _own(plans: Plans, query: str, then: PhysicalPlan) -> PhysicalPlan:
    """Joins that no other query runs: those that do have put out other results by now."""
    others = set(walk(plan for name, plan in plans.items() if name != query))
    twins = (twin_of(then, number) for number in count())
    return next(own for own in twins if others.isdisjoint(_joins_in(own)))


def _first(plan: PhysicalPlan) -> PhysicalPlan:
    """Of joins that run side by side, the first, which have all rows."""
    return plan.inputs[0] if isinstance(plan.spec, ParallelTrackSpec) else plan


def _with_all_rows(plan: PhysicalPlan) -> tuple[PhysicalPlan, ...]:
    """The inputs of an operator that have seen all rows."""
    return plan.inputs[:1] if isinstance(plan.spec, TAKING_OVER) else plan.inputs


def _that_know_what_they_lack(plan: PhysicalPlan) -> tuple[PhysicalPlan, ...]:
    """The inputs of an operator but for aggregates, and what is below, that take over later."""
    return plan.inputs[:1] if isinstance(plan.spec, HandoverSpec | SGBSpec) else plan.inputs


def _box(node: GraphNode) -> Box:
    found = box_of(node)
    assert found is not None, f"{node.name} is no join that can be exchanged"
    return found
