"""Regroup: an aggregate over joins gives way to one over joins of aggregates, or the other way.

    runs      Join(a, b) > Project > WidAggregate                             sum(bv)
    wanted    Join(a, WidAggregate(b) > Project) > Project > WidAggregate     sum(sum(v))

What goes below may go on from what is stored (`movable_groups.py`). Otherwise nothing moves: new
operators begin empty beside the old ones, and take over with the first window to whose results no
row can belong that came before, as aggregates do that compute the same windows in another way. No
window is answered in parts, so no operator has to put such parts together, as the published SGB
does.
Spec: dynamic-optimization 3.6, 8.3.
"""

from __future__ import annotations

from penstock.kernel.joins.mjoin import MJoinSpec
from penstock.kernel.joins.partners import widest
from penstock.kernel.migration.box import bands_of
from penstock.model.joins import JoinKind
from penstock.optimizer.physical import PhysicalPlan
from penstock.optimizer.specs import (
    BucketSpec,
    LowLevelSpec,
    PanedWidSpec,
    PaneStoreSpec,
    ProjectSpec,
    Results,
    SelectSpec,
    SourceSpec,
    WindowJoinSpec,
    WindowSpec,
)
from penstock.windows import Sliding

_ROW_BY_ROW = (SourceSpec, SelectSpec, ProjectSpec, BucketSpec, LowLevelSpec, PaneStoreSpec)


def are_regrouped(now: PhysicalPlan, then: PhysicalPlan) -> bool:
    """Whether two aggregates answer the same windows of joins of the same streams in other ways."""
    asked = _asked(now)
    if asked is None or asked != _asked(then) or _streams(now) != _streams(then):
        return False
    if _results(now) == _results(then):
        return False
    if not all(map(_has_end, (*now.walk(), *then.walk()))):
        return False
    return any(isinstance(each.spec, WindowJoinSpec) for each in now.walk())


def reach_of(*plans: PhysicalPlan) -> int:
    """How much later than a row a window may begin to whose results the row belongs."""
    return max(sum(_reach(each) for each in plan.walk() if each != plan) for plan in plans)


def streams_of(plan: PhysicalPlan) -> set[str]:
    """The streams that a plan reads."""
    return {spec.stream.name for spec in _streams(plan)}


def _asked(plan: PhysicalPlan) -> tuple[object, ...] | None:
    """Groups, names of results and windows of an aggregate; None: it is none that could change."""
    spec = plan.spec
    if not isinstance(spec, WindowSpec | PanedWidSpec) or not isinstance(spec.window, Sliding):
        return None
    if spec.window.unit != "time" or (isinstance(spec, WindowSpec) and spec.emit is not None):
        return None
    types = tuple((name, aggregate.type) for name, aggregate in spec.results)
    return spec.groups, types, spec.window


def _results(plan: PhysicalPlan) -> Results:
    assert isinstance(plan.spec, WindowSpec | PanedWidSpec)
    return plan.spec.results


def _streams(plan: PhysicalPlan) -> set[SourceSpec]:
    return {each.spec for each in plan.walk() if isinstance(each.spec, SourceSpec)}


def _has_end(plan: PhysicalPlan) -> bool:
    """Whether a row belongs to nothing that comes out long after it."""
    spec = plan.spec
    match spec:
        case WindowJoinSpec():
            return isinstance(spec.join, MJoinSpec) or spec.join.kind is JoinKind.INNER
        case WindowSpec() | PanedWidSpec():
            return _asked(plan) is not None
    return isinstance(spec, _ROW_BY_ROW)


def _reach(plan: PhysicalPlan) -> int:
    spec = plan.spec
    if isinstance(spec, WindowJoinSpec):
        return sum(widest(band) for *_, band in bands_of(spec.join))
    if isinstance(spec, WindowSpec | PanedWidSpec) and isinstance(spec.window, Sliding):
        return spec.window.range
    return 0
