"""Rechoose: windows are computed in another way, when what has come so far says that it pays.

A query is declared before anything is known of its rows, so `aggregation = auto` may have chosen
wrongly between WID and panes. While it runs it is known how many rows and groups come, and
operators that were chosen by cost are looked at again:

    plan          … > aggregate by WID > …
    begun         … > Handover(aggregate by WID, aggregate by panes) > …     for one RANGE
    over          … > aggregate by panes > …

Whatever stands above the aggregate is the same operator with the same state; but since it reads
something else, it has another fingerprint. So a change tells which operators are renamed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count

from penstock.errors import PenstockBug
from penstock.model.timestamps import BEGINNING, END, format_ticks
from penstock.optimizer.cost.aggregation import Load, estimate
from penstock.optimizer.cost.costs import Costs
from penstock.optimizer.lower_aggregate import by_windows
from penstock.optimizer.lower_panes import by_panes
from penstock.optimizer.physical import PhysicalPlan, Plans, rewritten, walk
from penstock.optimizer.regroup import in_parts, of_all_rows, renamed_parts
from penstock.optimizer.rules.share_panes import share_panes
from penstock.optimizer.specs import (
    HandoverSpec,
    PanedWidSpec,
    ParallelTrackSpec,
    Results,
    SGBSpec,
    WindowSpec,
)
from penstock.windows import Sliding

#: Operators that read what hands over, and what takes over from it.
TAKING_OVER = (HandoverSpec, SGBSpec, ParallelTrackSpec)
#: How many times faster another way must be for a change to pay: estimates are not that exact.
PAYS = 1.25


@dataclass(frozen=True)
class Change:
    """Plans instead of those that run; `renamed`: operators by their ids before and after.

    `moved`: the operator whose place another one takes; who read the one now reads the other. Where
    a query that does not change shares such operators, they stay, and the others are their twins.
    `anew`: operators that begin anew, though they are there: they have a part of their rows only.
    """

    plans: Plans
    renamed: Mapping[str, str]
    moved: tuple[str, str]
    anew: frozenset[str] = frozenset()


def aggregates(plans: Plans) -> Iterator[PhysicalPlan]:
    """The aggregates that were chosen by cost, and could be computed in another way as well.

    Another query may share one whose algorithm it names: that one is left alone.
    """
    yield from dict.fromkeys(each for plan in plans.values() for each in _chosen_by_cost(plan))


def _chosen_by_cost(plan: PhysicalPlan) -> Iterator[PhysicalPlan]:
    for each in plan.walk():
        if each.cost is not None and isinstance(each.spec, WindowSpec | PanedWidSpec):
            yield each


def has_ending(plans: Plans) -> bool:
    """Whether there is an operator that goes when others have taken over."""
    return any(isinstance(plan.spec, TAKING_OVER) for plan in walk(plans.values()))


def is_changing(plans: Plans) -> bool:
    """Whether some operators are just taking over from others."""
    specs = (plan.spec for plan in walk(plans.values()) if isinstance(plan.spec, TAKING_OVER))
    return any(not isinstance(spec, ParallelTrackSpec) or spec.until for spec in specs)


def other_way(plans: Plans, plan: PhysicalPlan, load: Load, costs: Costs) -> PhysicalPlan | None:
    """The same windows computed in another way, if that pays under this load."""
    groups, results, window = asked = _windows(plan)
    functions = [aggregate for _, aggregate in results]
    found = estimate(window, groups, functions, load, costs, _sharers(plan, plans))
    if isinstance(plan.spec, PanedWidSpec):
        now, then, chosen = found.paned, found.wid, by_windows(*asked, found)
    else:
        now, then, chosen = found.wid, found.paned, by_panes(*asked, found)
    if now < PAYS * then:
        return None
    other = chosen.over((_input_of(plan),), plan.label)
    if isinstance(other.spec, PanedWidSpec):
        [other] = share_panes({"": other}, plans).values()
    return None if other in walk(plans.values()) else other


def begin(plans: Plans, now: PhysicalPlan, then: PhysicalPlan, first: int) -> Change:
    """Let one aggregate take over from another with the window `first`, where cost decides."""
    deciding = [name for name, plan in plans.items() if now in _chosen_by_cost(plan)]
    return begin_for(deciding, plans, now, then, first)


def begin_for(
    queries: Iterable[str],
    plans: Plans,
    now: PhysicalPlan,
    then: PhysicalPlan,
    first: int,
    why: str = "",
) -> Change:
    """The same for some queries; others that share the aggregate keep it.

    `why` it takes until then. If no row has come yet, or no window will, there is nothing to hand
    over.
    """
    if not BEGINNING < first < END:
        return exchanged(queries, plans, now, then)
    _, _, window = _windows(now)
    until = window.covers(first)[1] - window.slide
    shown = format_ticks(until) if window.unit == "time" else str(until)
    reason = f"{then.spec.name} takes over from {now.spec.name} with windows that end after {shown}"
    reason += f", since {why}" if why else ""
    handover = PhysicalPlan(HandoverSpec(window, until), (now, then), now.label, reason)
    return exchanged(queries, plans, now, handover)


def begin_in_parts(
    query: str, plans: Plans, now: PhysicalPlan, then: PhysicalPlan, moment: int
) -> Change:
    """Let one aggregate take over from another in a query by taking rows from a moment on."""
    both = in_parts(now, then, moment)
    change = exchanged([query], plans, now, both)
    return replace(change, renamed={**change.renamed, **renamed_parts([now], both.inputs[:1])})


def end(
    plans: Plans,
    is_over: Callable[[PhysicalPlan], bool],
    are_same: Callable[[str, str], bool] = lambda one, other: False,
) -> Change | None:
    """Remove what others have taken over from; None: there is nothing.

    `are_same`: whether two operators, by their ids, can become one; they will compute the same.
    Where those above joins cannot, they are told apart, and what others have taken over from goes.
    """
    there = {plan.id for plan in walk(plans.values())}
    for plan in walk(plans.values()):
        if isinstance(plan.spec, TAKING_OVER) and is_over(plan) and not _joins_begun(plan, plans):
            readers = [name for name, query in plans.items() if plan in query.walk()]
            change = _without(plan, readers, plans)
            # Another query may have such operators already, with another past.
            alike = [pair for pair in change.renamed.items() if pair[1] in there]
            if all(are_same(*pair) for pair in alike):
                return change
            if isinstance(plan.spec, ParallelTrackSpec) and plan.inputs[0] != plan.inputs[1]:
                return told_apart(readers, plans, plan, plan.inputs[1])
    return None


def _joins_begun(plan: PhysicalPlan, plans: Plans) -> bool:
    """Whether what is to be left of SGB is what others have begun later, and lacks rows."""
    if not isinstance(plan.spec, SGBSpec):
        return False
    then = of_all_rows(plan.inputs[1])
    begun = (each for each in walk(plans.values()) if isinstance(each.spec, TAKING_OVER))
    return any(then in each.inputs[1].walk() for each in begun)


def _without(plan: PhysicalPlan, readers: Iterable[str], plans: Plans) -> Change:
    """What others have taken over from goes, and with it the operator between them."""
    if not isinstance(plan.spec, SGBSpec):
        return exchanged(readers, plans, plan, plan.inputs[1])
    then = of_all_rows(plan.inputs[1])
    change = exchanged(readers, plans, plan, then)
    parts = renamed_parts(plan.inputs[1:], [then])
    # Where another query runs the aggregate already, it has seen all rows of windows to come.
    there = {each.id for each in walk(plans.values())}
    new = {was: now for was, now in parts.items() if now not in there}
    return replace(change, renamed={**change.renamed, **new})


def told_apart(
    queries: Collection[str], plans: Plans, now: PhysicalPlan, then: PhysicalPlan
) -> Change:
    """The plans with other joins; where the operators above run elsewhere, these are their twins.

    `then` may be joins that run beside those of before. Both operators will compute the same, but
    have put out different parts of it.
    """
    rest = (plan for name, plan in plans.items() if name not in queries)
    others = {each.id for each in walk(rest)}
    change = exchanged(queries, plans, now, then)
    for twin in count(1):
        if others.isdisjoint(change.renamed.values()):
            return change
        if not isinstance(then.spec, ParallelTrackSpec):
            then = PhysicalPlan(ParallelTrackSpec(), (then, then), now.label, then.reason)
        assert isinstance(then.spec, ParallelTrackSpec)
        then = replace(then, spec=replace(then.spec, twin=twin))
        change = exchanged(queries, plans, now, then)
    raise PenstockBug("numbers have come to an end")


def exchanged(
    queries: Iterable[str], plans: Plans, now: PhysicalPlan, then: PhysicalPlan
) -> Change:
    """The plans, those of some queries with one operator instead of another."""
    renamed: dict[str, str] = {}

    def change(plan: PhysicalPlan, before: PhysicalPlan) -> PhysicalPlan:
        if before == now:
            return then
        if plan != before:
            renamed[before.id] = plan.id
        return plan

    # One by one: equal operators may have been chosen for different reasons.
    changed = {name: rewritten({name: plans[name]}, change)[name] for name in queries}
    return Change({**plans, **changed}, renamed, (now.id, then.id))


def _sharers(plan: PhysicalPlan, plans: Plans) -> int:
    """How many windows could share its panes."""

    def panes(plan: PhysicalPlan) -> tuple[PhysicalPlan, tuple[str, ...], str]:
        groups, _, window = _windows(plan)
        return _input_of(plan), groups, window.on

    return sum(panes(other) == panes(plan) for other in aggregates(plans))


def _windows(plan: PhysicalPlan) -> tuple[tuple[str, ...], Results, Sliding]:
    """What an aggregate is asked for."""
    spec = plan.spec
    assert isinstance(spec, WindowSpec | PanedWidSpec) and isinstance(spec.window, Sliding)
    return spec.groups, spec.results, spec.window


def _input_of(plan: PhysicalPlan) -> PhysicalPlan:
    """What is aggregated: what its Bucket or its panes read."""
    return plan.inputs[0].inputs[0]


def stand_ins(declared: PhysicalPlan, runs: PhysicalPlan) -> dict[str, PhysicalPlan]:
    """By fingerprint, the operators of a plan in whose place others run, and these."""
    if declared == runs:
        return {}
    if declared.spec != runs.spec or len(declared.inputs) != len(runs.inputs):
        return {declared.fingerprint: runs}
    found: dict[str, PhysicalPlan] = {}
    for below, other in zip(declared.inputs, runs.inputs, strict=True):
        found |= stand_ins(below, other)
    return found


def with_stand_ins(plans: Plans, instead: Mapping[str, PhysicalPlan]) -> dict[str, PhysicalPlan]:
    """Plans in which others stand for some operators, which are given by fingerprint."""
    return rewritten(plans, lambda now, before: instead.get(before.fingerprint, now))
