"""Movable groups: whether an aggregate that goes below joins can go on from what is stored.

    runs      Join(a, b) > Project > Bucket > WidAggregate                             sum(bv)
    wanted    Join(a, WidAggregate(b) > Project) > Project > Bucket > WidAggregate     sum(sum(v))

Rows of `b` that the join stores become groups, the others move as they are, and the aggregate above
keeps its partials (`kernel/migration/grouped_leaf.py`). The published form also goes back: what the
aggregate below holds is put into the queue of the join. But these are groups, of which nobody knows
the rows any more, and the join that is wanted takes rows. So the way back, and whatever else is not
as above, waits for a window that has no old rows (`regroup.py`).
Spec: dynamic-optimization 3.6, 8.3.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.optimizer.joins.box import (
    base_of,
    box_below,
    is_plain,
    leaf_sides,
    leaves_of,
    tests_of,
)
from penstock.optimizer.physical import PhysicalPlan, walk
from penstock.optimizer.regroup import is_by_wid, joined
from penstock.optimizer.specs import (
    BucketSpec,
    PanedWidSpec,
    PaneStoreSpec,
    ProjectSpec,
    WindowJoinSpec,
    WindowSpec,
)

#: Operators with a past: one that another query runs has put out other results.
_STATEFUL = (WindowSpec, PanedWidSpec, PaneStoreSpec, WindowJoinSpec)
_BELOW_IS_OVER = "rows of groups that are aggregated below joins are not known any more"


def why_not(now: PhysicalPlan, then: PhysicalPlan, running: Iterable[PhysicalPlan]) -> str:
    """Why what an aggregate over joins keeps cannot move to one over joins of groups.

    Empty: it can. `running` are the plans of all queries: also the same one may have such operators
    elsewhere.
    """
    if not (is_by_wid(now) and is_by_wid(then)):
        return "partials move only from WidAggregate to WidAggregate"
    if _aggregates(then).counterparts(_aggregates(now)) is None:
        return "sums of such long decimals are kept in another form"
    above, above_then = joined(now), joined(then)
    if not (is_plain(above) and is_plain(above_then)):
        return "joins that keep an order hold rows back"
    grouped = grouped_leaves(now, then)
    if grouped is None:
        return _BELOW_IS_OVER if grouped_leaves(then, now) else "inputs of joins come otherwise"
    lacks = _not_stored(above, above_then, grouped)
    if lacks:
        return f"joins have not stored `{lacks}`"
    mine, there = set(now.walk()), set(walk(running))
    new = (each for each in then.walk() if isinstance(each.spec, _STATEFUL) and each not in mine)
    shared = next((each for each in new if each in there), None)
    return "" if shared is None else f"{shared.spec.name} runs already, with another past"


def grouped_leaves(now: PhysicalPlan, then: PhysicalPlan) -> dict[str, PhysicalPlan] | None:
    """The leaf that comes aggregated to the joins of the second plan, and the aggregate.

    None: that is not all in which the leaves of the two differ.
    """
    boxes = box_below(joined(now)), box_below(joined(then))
    if boxes[0] is None or boxes[1] is None:
        return None
    leaves, wanted = leaves_of(boxes[0]), leaves_of(boxes[1])
    if leaves is None or wanted is None or leaves.keys() != wanted.keys():
        return None
    other = [name for name, leaf in leaves.items() if not _are_same(leaf, wanted[name])]
    if len(other) != 1:
        return None
    aggregate = _aggregate_below(wanted[other[0]])
    if aggregate is None or not _are_same(leaves[other[0]], joined(aggregate)):
        return None
    return {other[0]: aggregate}


def _not_stored(
    above: PhysicalPlan, above_then: PhysicalPlan, grouped: dict[str, PhysicalPlan]
) -> str:
    """A column that the new joins, or the aggregate below, need of rows; empty: all are stored."""
    boxes = box_below(above), box_below(above_then)
    assert boxes[0] is not None and boxes[1] is not None
    sides, wanted = leaf_sides(boxes[0]), leaf_sides(boxes[1])
    needed = {name for leaf, side in wanted.items() if leaf not in grouped for name in side.names}
    for leaf, aggregate in grouped.items():
        spec = aggregate.spec
        assert isinstance(spec, WindowSpec | PanedWidSpec)
        arguments = (name for _, each in spec.results for name in each.refs)
        needed |= {sides[leaf].column(name) for name in (*spec.groups, *arguments)}
    stored = {name for side in sides.values() for name in side.names}
    return min(needed - stored, default="")


def _aggregates(plan: PhysicalPlan) -> AggregateSet:
    assert isinstance(plan.spec, WindowSpec)
    return AggregateSet(plan.spec.groups, plan.spec.results)


def _are_same(leaf: PhysicalPlan, other: PhysicalPlan) -> bool:
    """Whether two plans give the same rows, though not of the same columns."""
    asked = ({*map(str, tests_of(each))} for each in (leaf, other))
    return base_of(leaf) == base_of(other) and next(asked) == next(asked)


def _aggregate_below(leaf: PhysicalPlan) -> PhysicalPlan | None:
    """The aggregate whose results a leaf gives, a row at a time."""
    while isinstance(leaf.spec, ProjectSpec):
        [leaf] = leaf.inputs
    is_one = isinstance(leaf.spec, WindowSpec | PanedWidSpec)
    return leaf if is_one and isinstance(leaf.inputs[0].spec, BucketSpec | PaneStoreSpec) else None
