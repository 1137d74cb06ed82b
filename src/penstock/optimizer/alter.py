"""Alter: a query that runs is to be computed in another way, and must not lose what it keeps.

The plan that runs and the one that is wanted are compared, from the streams upwards. Where both
compute the same windows, one aggregate can hand over to another at the end of a window, as it does
when operators are chosen again (`rechoose.py`):

    runs      … > Bucket > WidAggregate > Project
    wanted    … > PaneStore > PanedWid > Project
    change    WidAggregate hands over to PanedWid; Project stays, with what it keeps

An aggregate can hand over if it knows to which windows no row has come: WID and panes do. It may
hand over to any other. Joins that read each other give way together to others over the same inputs,
in another shape or by another algorithm (`joins/box.py`):

    runs      OAJoin(OAJoin(a, b), c) > Project
    wanted    MJoin(a, b, c) > Project

So do conditions and projections above or below them that stand elsewhere then. An aggregate above
joins gives way to one above joins of aggregates, and back (`regroup.py`).

Whatever else differs, a union, an outer join, an order, would begin without the rows that came
before, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.errors import NotExecutable
from penstock.kernel.joins.spec import JoinSpec
from penstock.optimizer.joins import box
from penstock.optimizer.physical import PhysicalPlan, Plans, Program, walk
from penstock.optimizer.regroup import are_regrouped, of_all_rows
from penstock.optimizer.specs import (
    BucketSpec,
    HandoverSpec,
    LowLevelSpec,
    PanedWidSpec,
    PaneStoreSpec,
    ParallelTrackSpec,
    Results,
    SGBSpec,
    Spec,
    WindowJoinSpec,
    WindowSpec,
)
from penstock.windows import Sliding

#: Operators that prepare rows for the aggregate above them.
_PREPARING = (BucketSpec, LowLevelSpec, PaneStoreSpec)


def takeovers(
    query: str, now: PhysicalPlan, wanted: PhysicalPlan
) -> list[tuple[PhysicalPlan, PhysicalPlan]]:
    """The aggregates and joins that have to hand over, each with what is to take over from it.

    Those below others come first. NotExecutable if anything else would have to change.
    """
    try:
        return list(_takeovers(now, wanted))
    except _Changing as refused:
        raise NotExecutable(
            f"query `{query}` is just changing: {refused}",
            hint="ALTER it when these windows are out; or SET the option and CREATE OR REPLACE "
            f"QUERY {query}, which begins anew",
        ) from None
    except _Different as different:
        why = str(different) or _difference(now, wanted)
        raise NotExecutable(
            f"query `{query}` has read rows already, and {why}",
            hint=f"SET the option and CREATE OR REPLACE QUERY {query}: it begins anew, without the "
            "rows that came before",
        ) from None


def with_earlier(now: Program, before: Program, query: str) -> Program:
    """A program that computes a query otherwise than the one before it, and loses nothing.

    If what it was computed by cannot hand over, the program is as it is: the query begins anew.
    """
    was, wanted = before.plans[query], now.plans[query]
    try:
        takeovers(query, was, wanted)
    except NotExecutable:
        return now
    earlier = before.altered.get(query, ())
    if was != wanted and was not in earlier:
        earlier = (*earlier, was)
    return replace(now, altered={**now.altered, query: earlier}) if earlier else now


def lacks_columns(query: str, now: PhysicalPlan, wanted: PhysicalPlan, running: Plans) -> bool:
    """Whether joins of a query could not hand over to others for want of columns.

    They need not where the others run already.
    """
    try:
        changes = takeovers(query, now, wanted)
    except NotExecutable:
        return False
    there = set(walk(running.values()))
    joins = ((was, then, box.box_below(then)) for was, then in changes)
    return any(
        below is not None
        and not there.issuperset(box.joins_of(below))
        and bool(box.not_stored(_first(was), then))
        for was, then, below in joins
    )


def annotated(now: PhysicalPlan, wanted: PhysicalPlan) -> PhysicalPlan:
    """The plan that runs, with the reasons and costs of the one that is wanted.

    There is nothing to be handed over any more.
    """
    if now == wanted:
        return wanted
    if isinstance(now.spec, SGBSpec):
        return now  # its second input is what was wanted
    if isinstance(now.spec, HandoverSpec | ParallelTrackSpec):
        before, after = now.inputs
        return replace(now, inputs=(before, annotated(after, wanted)))
    below = zip(now.inputs, wanted.inputs, strict=True)
    inputs = tuple(annotated(runs, other) for runs, other in below)
    return replace(now, inputs=inputs, label=wanted.label, reason=wanted.reason, cost=wanted.cost)


def respecified(now: PhysicalPlan, wanted: PhysicalPlan) -> PhysicalPlan:
    """The plan that runs, whose joins know of times what those of the one that is wanted do.

    The bounds that they give are those that the wanted plan counts on.
    """
    if isinstance(now.spec, SGBSpec):
        return now
    if isinstance(now.spec, HandoverSpec | ParallelTrackSpec):
        before, after = now.inputs
        return replace(now, inputs=(before, respecified(after, wanted)))
    below = zip(now.inputs, wanted.inputs, strict=True)
    inputs = tuple(respecified(runs, other) for runs, other in below)
    is_join = isinstance(now.spec, WindowJoinSpec) and _are_alike(now.spec, wanted.spec)
    return replace(now, inputs=inputs, spec=wanted.spec if is_join else now.spec)


class _Different(Exception):
    """Plans differ in more than can be handed over; may say why."""


class _Changing(Exception):
    """An aggregate is just taking over from another; says which."""


def _takeovers(
    now: PhysicalPlan, wanted: PhysicalPlan
) -> Iterator[tuple[PhysicalPlan, PhysicalPlan]]:
    if now == wanted:
        return
    if isinstance(now.spec, SGBSpec):
        if of_all_rows(now.inputs[1]) != wanted:
            raise _Changing(now.reason)
        return
    first = _first(now)
    bases, wanted_bases = box.bases_of(first), box.bases_of(wanted)
    is_lower = box.are_alike_above(first, wanted)  # what is alike above joins stays as it is
    if bases and wanted_bases and bases.keys() == wanted_bases.keys() and not is_lower:
        for name, base in bases.items():
            yield from _takeovers(base, wanted_bases[name])
        then = box.over(wanted, bases)
        runs = now.inputs[-1] if first is not now else now
        if then not in (now, box.twin_of(runs, 0)):
            why = box.refused(first, then)
            if why:
                raise _Different(why)
            yield now, then
        return
    # What is just taking over is what will run.
    runs = now.inputs[1] if isinstance(now.spec, HandoverSpec) else now
    if _windows(runs) is not None and _windows(runs) == _windows(wanted):
        (specs, below), (others, other_below) = _chain(runs), _chain(wanted)
        yield from _takeovers(below, other_below)
        if _same_way(specs, others):
            return
        if runs is not now:
            raise _Changing(now.reason)
        if not _can_hand_over(specs):
            raise _Different
        yield now, _over(below, others, wanted)
        return
    if are_regrouped(_settled(runs), wanted):
        # Joins below may be taking over from others, too.
        for each in now.walk():
            if isinstance(each.spec, HandoverSpec | SGBSpec | ParallelTrackSpec):
                raise _Changing(each.reason)
        if not _can_hand_over(_chain(runs)[0]):
            raise _Different
        yield now, wanted
        return
    if not _are_alike(runs.spec, wanted.spec) or len(runs.inputs) != len(wanted.inputs):
        raise _Different
    for part, other in zip(runs.inputs, wanted.inputs, strict=True):
        yield from _takeovers(part, other)


def _first(plan: PhysicalPlan) -> PhysicalPlan:
    """Of joins that run side by side, the first, which have all rows."""
    return plan.inputs[0] if isinstance(plan.spec, ParallelTrackSpec) else plan


def _settled(plan: PhysicalPlan) -> PhysicalPlan:
    """What will run when all have taken over that are about to."""
    if isinstance(plan.spec, HandoverSpec | ParallelTrackSpec):
        return _settled(plan.inputs[1])
    if isinstance(plan.spec, SGBSpec):
        return of_all_rows(plan.inputs[1])
    return replace(plan, inputs=tuple(map(_settled, plan.inputs)))


def _are_alike(spec: Spec, other: Spec) -> bool:
    """Whether operators store and give the same, so that the first can stay for the other.

    How far times of a join's rows lie apart follows from what they have to meet. What is known of
    it in advance may be said in another way if the joins below have another shape.
    """
    if isinstance(spec, WindowJoinSpec) and isinstance(other, WindowJoinSpec):
        return _with_nothing_carried(spec) == _with_nothing_carried(other)
    return spec == other


def _with_nothing_carried(spec: WindowJoinSpec) -> WindowJoinSpec:
    if not isinstance(spec.join, JoinSpec):
        return spec
    left, right = (replace(side, carried=()) for side in spec.join.sides)
    return replace(spec, join=replace(spec.join, sides=(left, right)))


def _windows(plan: PhysicalPlan) -> tuple[tuple[str, ...], Results, Sliding] | None:
    """What an aggregate is asked for; None: it is none that could be computed in another way."""
    spec = plan.spec
    if not isinstance(spec, WindowSpec | PanedWidSpec) or not isinstance(spec.window, Sliding):
        return None
    if isinstance(spec, WindowSpec) and spec.emit is not None:
        return None
    return spec.groups, spec.results, spec.window


def _chain(plan: PhysicalPlan) -> tuple[list[Spec], PhysicalPlan]:
    """An aggregate with what prepares its rows, the lowest first; and what gives the rows."""
    specs = [plan.spec]
    [below] = plan.inputs
    while isinstance(below.spec, _PREPARING):
        specs.append(below.spec)
        [below] = below.inputs
    return specs[::-1], below


def _same_way(specs: list[Spec], others: list[Spec]) -> bool:
    """Whether nothing is to change; panes may be shared by others, who want them shorter."""
    stores = specs[0], others[0]
    if all(isinstance(spec, PaneStoreSpec) for spec in stores):
        return stores[0].name == stores[1].name
    return specs == others


def _can_hand_over(specs: list[Spec]) -> bool:
    """Whether the aggregate knows to which windows no row has come."""
    return [spec.name for spec in specs] in (["Bucket", "WidAggregate"], ["PaneStore", "PanedWid"])


def _over(below: PhysicalPlan, specs: list[Spec], wanted: PhysicalPlan) -> PhysicalPlan:
    """The wanted aggregate over what gives the rows now."""
    plan = below
    for spec in specs:
        plan = PhysicalPlan(spec, (plan,))
    return replace(plan, label=wanted.label, reason=wanted.reason, cost=wanted.cost)


def _difference(now: PhysicalPlan, wanted: PhysicalPlan) -> str:
    """Which operators would go and come."""
    names = {plan.spec.name for plan in now.walk()}, {plan.spec.name for plan in wanted.walk()}
    goes = " and ".join(sorted(names[0] - names[1]))
    comes = " and ".join(sorted(names[1] - names[0]))
    if not comes:
        return f"{goes or 'it'} cannot hand them over"
    return f"{goes} cannot hand them over to {comes}" if goes else f"{comes} would not have them"
