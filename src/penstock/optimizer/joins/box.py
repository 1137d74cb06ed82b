"""Boxes of joins in plans: what can be exchanged for another shape or algorithm, and over what.

Inner joins that read each other, with projections between them that only leave out columns, are a
box; what it reads are its leaves, called by the columns that carry their times. A plan with the
same leaves computes the same, whatever its joins look like (`kernel/migration/box.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.kernel.joins.mjoin import MJoinSpec
from penstock.kernel.joins.spec import SideSpec
from penstock.kernel.migration.box import bands_of
from penstock.model.expressions import Ref
from penstock.model.joins import JoinKind
from penstock.optimizer.physical import PhysicalPlan
from penstock.optimizer.specs import PLAIN, ProjectSpec, WindowJoinSpec

#: Tactics whose left rows must not have met others, and whose rows wait in the inputs' buffers.
_OPIB, _TSM, _BASELINE = "OPIBJoin", "TSMJoin", "GlobalOrderJoin"


def leaves_of(plan: PhysicalPlan) -> dict[str, PhysicalPlan] | None:
    """What a box reads, by the columns that carry time; None: the plan is no box."""
    joins = joins_of(plan)
    if not joins:
        return None
    found: dict[str, PhysicalPlan] = {}
    times: set[str] = set()
    for join in joins:
        for side, below in zip(_sides(join), join.inputs, strict=True):
            time = side.column(side.on)
            times.add(time)
            if not joins_of(below):
                found[time] = below
        assert isinstance(join.spec, WindowJoinSpec)
        times.update(time for band in bands_of(join.spec.join) for time in band[:2])
    # Where an input is timed by several columns, one bound does not tell how far it is.
    return found if times <= found.keys() else None


def over(plan: PhysicalPlan, leaves: Mapping[str, PhysicalPlan]) -> PhysicalPlan:
    """A box over other leaves."""
    if not isinstance(plan.spec, WindowJoinSpec):
        return replace(plan, inputs=tuple(over(below, leaves) for below in plan.inputs))
    inputs = (
        over(below, leaves) if joins_of(below) else leaves[side.column(side.on)]
        for side, below in zip(_sides(plan), plan.inputs, strict=True)
    )
    return replace(plan, inputs=tuple(inputs))


def joins_of(plan: PhysicalPlan) -> list[PhysicalPlan]:
    """The joins of a box, those that others read first; none: the plan is no box."""
    top = _below(plan)
    if top is None:
        return []
    return [*(each for below in top.inputs for each in joins_of(below)), top]


def refused(now: PhysicalPlan, then: PhysicalPlan) -> str:
    """Why a box cannot give way to another while it runs; empty: it can."""
    boxes = [[_tactic(join) for join in joins_of(plan)] for plan in (now, then)]
    for tactics in boxes:
        if len(tactics) > 1 and {*tactics} != {PLAIN}:
            return "joins of joins that keep an order hold rows back in several places"
    before, after = boxes[0][-1], boxes[1][-1]
    if _BASELINE in (before, after):
        return f"{_BASELINE} gives other results"
    if after == _OPIB and before != after:
        return f"{after} joins left rows when all their partners are there, and {before} has begun"
    if after == _TSM and before not in (PLAIN, after):
        return f"rows that {before} holds back have no place in {after}"
    return ""


def is_plain(plan: PhysicalPlan) -> bool:
    """Whether no join of a box holds anything back."""
    return all(_tactic(join) == PLAIN for join in joins_of(plan))


def shape_of(plan: PhysicalPlan) -> str:
    """A box as text: its joins by name, over the leaves as the query calls them."""
    top = _below(plan)
    if top is None:
        return ""
    inputs = (
        shape_of(below) or side.column(side.on).rpartition(".")[0] or side.on
        for side, below in zip(_sides(top), top.inputs, strict=True)
    )
    return f"{top.spec.name}({', '.join(inputs)})"


def _below(plan: PhysicalPlan) -> PhysicalPlan | None:
    """The join of a box whose columns a plan passes on."""
    while isinstance(plan.spec, ProjectSpec) and _only_drops(plan.spec):
        [plan] = plan.inputs
    return plan if _is_inner(plan) else None


def _is_inner(plan: PhysicalPlan) -> bool:
    spec = plan.spec
    if not isinstance(spec, WindowJoinSpec):
        return False
    return isinstance(spec.join, MJoinSpec) or spec.join.kind is JoinKind.INNER


def _only_drops(spec: ProjectSpec) -> bool:
    return all(isinstance(c.value, Ref) and c.value.name == c.name for c in spec.columns)


def _sides(plan: PhysicalPlan) -> Iterator[SideSpec]:
    assert isinstance(plan.spec, WindowJoinSpec)
    join = plan.spec.join
    return iter(join.inputs if isinstance(join, MJoinSpec) else join.sides)


def _tactic(plan: PhysicalPlan) -> str:
    assert isinstance(plan.spec, WindowJoinSpec)
    return plan.spec.tactic
