"""Boxes of joins in plans: what can be exchanged for another shape or algorithm, and over what.

Inner joins that read each other, with projections between them that only leave out columns, are a
box; what it reads are its leaves, called by the columns that carry their times. A plan with the
same leaves computes the same, whatever its joins look like (`kernel/migration/box.py`).

Conditions on rows of one leaf may be tested below the joins or above them, and columns be left out
sooner or later: so below its leaves a box has *bases*, and two boxes over the same bases can be
exchanged with all that stands between their bases and the first operator they have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.kernel.joins.mjoin import MJoinSpec
from penstock.kernel.joins.spec import SideSpec
from penstock.kernel.migration.box import bands_of
from penstock.model.expressions import Expression, Ref, conjuncts, disjuncts
from penstock.model.joins import JoinKind
from penstock.optimizer.physical import PhysicalPlan
from penstock.optimizer.specs import PLAIN, ProjectSpec, SelectSpec, WindowJoinSpec

#: Tactics whose left rows must not have met others, and whose rows wait in the inputs' buffers.
_OPIB, _TSM = "OPIBJoin", "TSMJoin"


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


def bases_of(plan: PhysicalPlan) -> dict[str, PhysicalPlan] | None:
    """What the leaves of a box read, below what tests their rows; None: there is no box."""
    box = box_below(plan)
    leaves = None if box is None else leaves_of(box)
    return None if leaves is None else {name: base_of(leaf) for name, leaf in leaves.items()}


def box_below(plan: PhysicalPlan) -> PhysicalPlan | None:
    """The box whose rows a plan passes on, a row at a time; None: there is none."""
    while not joins_of(plan):
        if not isinstance(plan.spec, SelectSpec | ProjectSpec):
            return None
        [plan] = plan.inputs
    return plan


def are_alike_above(now: PhysicalPlan, then: PhysicalPlan) -> bool:
    """Whether the same operators stand above the boxes of two plans."""
    below = False
    while now.spec == then.spec and not joins_of(now) and not joins_of(then):
        if not isinstance(now.spec, SelectSpec | ProjectSpec):
            return False
        [now], [then], below = now.inputs, then.inputs, True
    return below and bool(joins_of(now)) and bool(joins_of(then))


def over(plan: PhysicalPlan, bases: Mapping[str, PhysicalPlan]) -> PhysicalPlan:
    """A box, with what stands above it, over other bases."""
    if not _is_inner(plan):
        return replace(plan, inputs=tuple(over(below, bases) for below in plan.inputs))
    inputs = (
        over(below, bases) if joins_of(below) else _rebased(below, bases[side.column(side.on)])
        for side, below in zip(_sides(plan), plan.inputs, strict=True)
    )
    return replace(plan, inputs=tuple(inputs))


def twin_of(plan: PhysicalPlan, number: int) -> PhysicalPlan:
    """A box, with what stands above it, of joins told apart from others; 0: from nobody."""
    if not _is_inner(plan):
        return replace(plan, inputs=tuple(twin_of(below, number) for below in plan.inputs))
    assert isinstance(plan.spec, WindowJoinSpec)
    inputs = (twin_of(below, number) if joins_of(below) else below for below in plan.inputs)
    return replace(plan, spec=replace(plan.spec, twin=number), inputs=tuple(inputs))


def tested_before(now: PhysicalPlan, then: PhysicalPlan) -> list[str]:
    """The leaves of which one box tests something that another one over their bases does not."""
    boxes = box_below(now), box_below(then)
    assert boxes[0] is not None and boxes[1] is not None
    before, after = leaves_of(boxes[0]), leaves_of(boxes[1])
    assert before is not None and after is not None
    return [
        name for name, leaf in before.items() if not _implied(tests_of(leaf), tests_of(after[name]))
    ]


def not_stored(now: PhysicalPlan, then: PhysicalPlan) -> list[str]:
    """The columns of leaves that one box stores and another one over their bases does not have."""
    was, will_be = box_below(now), box_below(then)
    assert was is not None and will_be is not None
    return sorted(_stored(will_be) - _stored(was))


def _stored(box: PhysicalPlan) -> set[str]:
    """The columns of the leaves of a box, as results call them."""
    return {name for side in leaf_sides(box).values() for name in side.names}


def leaf_sides(box: PhysicalPlan) -> dict[str, SideSpec]:
    """What the joins of a box have of its leaves, by what these are called."""
    return {
        side.column(side.on): side
        for join in joins_of(box)
        for side, below in zip(_sides(join), join.inputs, strict=True)
        if not joins_of(below)
    }


def base_of(leaf: PhysicalPlan) -> PhysicalPlan:
    while _passes_on(leaf):
        [leaf] = leaf.inputs
    return leaf


def _rebased(leaf: PhysicalPlan, base: PhysicalPlan) -> PhysicalPlan:
    if not _passes_on(leaf):
        return base
    [below] = leaf.inputs
    return replace(leaf, inputs=(_rebased(below, base),))


def tests_of(leaf: PhysicalPlan) -> list[Expression]:
    """The conditions that are tested between a leaf and its base."""
    found: list[Expression] = []
    while _passes_on(leaf):
        if isinstance(leaf.spec, SelectSpec):
            found += conjuncts(leaf.spec.predicate)
        [leaf] = leaf.inputs
    return found


def _tests_alike(box: PhysicalPlan, other: PhysicalPlan) -> bool:
    """Whether the same is asked of rows before they come to one box and to the other."""
    leaves, others = leaves_of(box), leaves_of(other)
    assert leaves is not None and others is not None
    asked = ([{*map(str, tests_of(of[name]))} for name in leaves] for of in (leaves, others))
    return next(asked) == next(asked)


def _implied(conditions: list[Expression], others: list[Expression]) -> bool:
    """Whether rows that meet the others meet the first, too; where several share joins, one of
    theirs is enough."""
    met = set(map(str, others))
    return all(
        any(met.issuperset(map(str, conjuncts(way))) for way in disjuncts(each))
        for each in conditions
    )


def _passes_on(plan: PhysicalPlan) -> bool:
    """Whether a plan passes rows on as they are, without some columns or some of the rows."""
    spec = plan.spec
    return isinstance(spec, SelectSpec) or (isinstance(spec, ProjectSpec) and _only_drops(spec))


def joins_of(plan: PhysicalPlan) -> list[PhysicalPlan]:
    """The joins of a box, those that others read first; none: the plan is no box."""
    top = _below(plan)
    if top is None:
        return []
    return [*(each for below in top.inputs for each in joins_of(below)), top]


def refused(now: PhysicalPlan, then: PhysicalPlan) -> str:
    """Why a box cannot give way to another while it runs; empty: it can."""
    was, will_be = box_below(now), box_below(then)
    assert was is not None and will_be is not None
    if not (is_plain(now) and is_plain(then)) and not _tests_alike(was, will_be):
        return "conditions that are tested elsewhere would not see what an order holds back"
    if not _give_alike(now, then):
        return "other columns would come out of its joins"
    boxes = [[_tactic(join) for join in joins_of(plan)] for plan in (was, will_be)]
    for tactics in boxes:
        if len(tactics) > 1 and {*tactics} != {PLAIN}:
            return "joins of joins that keep an order hold rows back in several places"
    before, after = boxes[0][-1], boxes[1][-1]
    if after == _OPIB and before != after:
        return f"{after} joins left rows when all their partners are there, and {before} has begun"
    if after == _TSM and before not in (PLAIN, after):
        return f"rows that {before} holds back have no place in {after}"
    return ""


def is_plain(plan: PhysicalPlan) -> bool:
    """Whether no join of a box holds anything back."""
    box = box_below(plan)
    return box is not None and all(_tactic(join) == PLAIN for join in joins_of(box))


def shape_of(plan: PhysicalPlan) -> str:
    """A box as text: its joins by name, over the leaves as the query calls them."""
    box = box_below(plan)
    return "" if box is None else _shape(box)


def _shape(box: PhysicalPlan) -> str:
    top = _below(box)
    if top is None:
        return ""
    named = zip(input_names(top), top.inputs, strict=True)
    return f"{top.spec.name}({', '.join(_shape(below) or name for name, below in named)})"


def input_names(join: PhysicalPlan) -> list[str]:
    """What the query calls the inputs of a join; those that are joins, by one of theirs."""
    return [side.column(side.on).rpartition(".")[0] or side.on for side in _sides(join)]


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


def _give_alike(now: PhysicalPlan, then: PhysicalPlan) -> bool:
    """Whether whoever reads a box, or what stands above it, can read another instead.

    Of a box itself the columns count that are asked for by name: which others come out depends on
    its shape, and on what other queries read of it.
    """
    if joins_of(now) and joins_of(then):
        return True
    return _columns(now) == _columns(then)


def _columns(plan: PhysicalPlan) -> list[str]:
    """What the columns are called that come out of a box, or through what stands above it."""
    while isinstance(plan.spec, SelectSpec):
        [plan] = plan.inputs
    if isinstance(plan.spec, ProjectSpec):
        return [column.name for column in plan.spec.columns]
    return sorted(name for side in _sides(plan) for name in side.names)


def _only_drops(spec: ProjectSpec) -> bool:
    return all(isinstance(c.value, Ref) and c.value.name == c.name for c in spec.columns)


def _sides(plan: PhysicalPlan) -> Iterator[SideSpec]:
    assert isinstance(plan.spec, WindowJoinSpec)
    join = plan.spec.join
    return iter(join.inputs if isinstance(join, MJoinSpec) else join.sides)


def _tactic(plan: PhysicalPlan) -> str:
    assert isinstance(plan.spec, WindowJoinSpec)
    return plan.spec.tactic
