"""Have joins punctuate the pair of their timestamps, where an aggregate can use that.

    WidAggregate by b.ts [RANGE 1 minute, WA a.ts]
      OAJoin a, b                                       joint

An aggregate over a join can close a group by such a punctuation if its window is on the one
timestamp and the other is among its groups: then the pair says of a whole group that it is over.
Nobody else has a use for pairs, so nobody else is sent any. Joins that hold results back cannot say
that they are out.  Spec: window-queries 6.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.kernel.joins.spec import JoinSpec
from penstock.model.expressions import Ref
from penstock.model.joins import qualified
from penstock.optimizer import specs
from penstock.optimizer.physical import PhysicalPlan, Plans, rewritten, walk


def joint_punctuation(plans: Plans, running: Plans) -> Plans:
    """The plans, in which joins below aggregates that group by both timestamps are joint."""
    asked = {join for plan in walk(plans.values()) for join in _asked(plan)}
    # One that runs and punctuates pairs already serves those as well who have no use for them.
    given = {plan for plan in walk(running.values()) if _is_joint(plan)}

    def change(plan: PhysicalPlan, before: PhysicalPlan) -> PhysicalPlan:
        if not isinstance(plan.spec, specs.WindowJoinSpec) or plan.spec.tactic != specs.PLAIN:
            return plan
        joint = replace(plan, spec=replace(plan.spec, joint=True))
        return joint if before in asked or joint in given else plan

    return rewritten(plans, change)


def _is_joint(plan: PhysicalPlan) -> bool:
    return isinstance(plan.spec, specs.WindowJoinSpec) and plan.spec.joint


def _asked(plan: PhysicalPlan) -> Iterator[PhysicalPlan]:
    """The join below an aggregate that can use pairs."""
    match plan.spec:
        case specs.WindowSpec(window=window, groups=groups):
            on = window.on
        case specs.PaneStoreSpec(panes=panes, groups=groups):
            on = panes.on
        case _:
            return
    timed = _origin(plan.inputs[0], on)
    if timed is not None and (timed[0], 1 - timed[1]) in (
        _origin(plan.inputs[0], group) for group in groups
    ):
        yield timed[0]


def _origin(plan: PhysicalPlan, column: str) -> tuple[PhysicalPlan, int] | None:
    """The join, and the side of it, of which a column is the timestamp."""
    match plan.spec:
        case specs.SelectSpec() | specs.BucketSpec():
            return _origin(plan.inputs[0], column)
        case specs.ProjectSpec(columns=columns):
            value = next(c.value for c in columns if c.name == column)
            return _origin(plan.inputs[0], value.name) if isinstance(value, Ref) else None
        case specs.ExplodeSpec(kept=kept):
            is_kept = column in (c.name for c in kept)
            return _origin(plan.inputs[0], column) if is_kept else None
        case specs.StaticJoinSpec(join=table):
            own = column.removeprefix(qualified(table.names[0], ""))
            is_own = own in (c.name for c in table.columns)
            return _origin(plan.inputs[0], own) if is_own else None
        case specs.WindowJoinSpec(join=JoinSpec() as join) if not join.kind.is_one_sided:
            names = [side.column(side.on) for side in join.sides]
            return (plan, names.index(column)) if column in names else None
    return None
