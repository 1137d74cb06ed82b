"""Regroup: an aggregate over joins gives way to one over joins of aggregates, or the other way.

    runs      Join(a, b) > Project > WidAggregate                             sum(bv)
    wanted    Join(a, WidAggregate(b) > Project) > Project > WidAggregate     sum(sum(v))

What goes below may go on from what is stored (`movable_groups.py`). Otherwise nothing moves: new
operators begin empty beside the old ones, and take over with the first window to whose results no
row can belong that came before, as aggregates do that compute the same windows in another way. No
window is answered in parts then. As it was published (`pt_published`), windows are: the old
operators take the rows from before a moment, the new ones those from then on, and SGB
(`kernel/aggregation/sgb.py`) makes one result of two:

    begun     SGB( … > t < moment > WidAggregate,  … > t >= moment > WidAggregate)
    over      … > WidAggregate

Spec: dynamic-optimization 3.6, 8.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.kernel.joins.mjoin import MJoinSpec
from penstock.kernel.joins.partners import widest
from penstock.kernel.migration.box import bands_of
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Call, Literal, Ref
from penstock.model.joins import JoinKind
from penstock.model.schema import WINDOW_START
from penstock.model.timestamps import format_ticks
from penstock.model.types import Type
from penstock.optimizer.joins.box import box_below, is_plain, joins_of, leaf_sides, leaves_of
from penstock.optimizer.physical import PhysicalPlan
from penstock.optimizer.rules.group_below_join import OF_PARTS
from penstock.optimizer.specs import (
    BucketSpec,
    LowLevelSpec,
    PanedWidSpec,
    PaneStoreSpec,
    ProjectSpec,
    Results,
    SelectSpec,
    SGBSpec,
    SourceSpec,
    WindowJoinSpec,
    WindowSpec,
)
from penstock.windows import Sliding, TumblingBand

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


def why_not_in_parts(now: PhysicalPlan, then: PhysicalPlan, query: PhysicalPlan) -> str:
    """Why windows cannot be answered in parts by both while they run; empty: they can be.

    `query` is the plan of which the first is a part.
    """
    if not (is_by_wid(now) and is_by_wid(then)):
        return "parts of windows are put together of WidAggregates only"
    if not (is_plain(joined(now)) and is_plain(joined(then))):
        return "joins that keep an order hold rows back"
    if any(joined(now) in each.inputs for each in query.walk() if each != now.inputs[0]):
        return "something else reads the joins"
    if not (_are_timed_by_streams(now) and _are_timed_by_streams(then)):
        return "times of the joins are computed"
    return "" if window_of_joins(now) else "rows meet across windows"


def window_of_joins(aggregate: PhysicalPlan) -> TumblingBand | None:
    """The window in which rows meet below an aggregate; None: there is none, or several."""
    box = box_below(joined(aggregate))
    specs = [] if box is None else [each.spec for each in joins_of(box)]
    bands = {
        band
        for spec in specs
        if isinstance(spec, WindowJoinSpec)
        for *_, band in bands_of(spec.join)
    }
    only = next(iter(bands)) if len(bands) == 1 else None
    return only if isinstance(only, TumblingBand) else None


def _are_timed_by_streams(aggregate: PhysicalPlan) -> bool:
    """Whether the times of the joins below are columns of streams as they come."""
    box = box_below(joined(aggregate))
    leaves = None if box is None else leaves_of(box)
    if box is None or leaves is None:
        return False
    sides = leaf_sides(box)
    return all(_is_of_stream(leaf, sides[name].on) for name, leaf in leaves.items())


def _is_of_stream(plan: PhysicalPlan, column: str) -> bool:
    """Whether a column is one of a stream; what windows begin with is a time of their rows."""
    spec = plan.spec
    if isinstance(spec, SourceSpec):
        return True
    if isinstance(spec, ProjectSpec):
        value = next(each.value for each in spec.columns if each.name == column)
        return isinstance(value, Ref) and _is_of_stream(plan.inputs[0], value.name)
    if isinstance(spec, WindowSpec) and isinstance(spec.window, Sliding):
        is_begin = column == WINDOW_START
        return is_begin and _is_of_stream(plan.inputs[0], spec.window.on)
    is_passed = isinstance(spec, SelectSpec | BucketSpec)
    return is_passed and _is_of_stream(plan.inputs[0], column)


def in_parts(now: PhysicalPlan, then: PhysicalPlan, moment: int) -> PhysicalPlan:
    """Both side by side: of rows from before a moment, at which a window of joins begins, and of
    those from then on."""
    spec = now.spec
    assert isinstance(spec, WindowSpec) and isinstance(spec.window, Sliding)
    window = spec.window
    last = window.covers(window.wid_range(moment - 1)[1] - 1)[1]
    results = tuple(
        (name, Aggregate(OF_PARTS[each.function], Ref(name, each.type)))
        for name, each in spec.results
    )
    why = (
        f"puts windows together of {spec.name} over rows before {format_ticks(moment)} and "
        f"{then.spec.name} over those from then on, until all are of the second"
    )
    parts = _of_rows(now, "<", moment), _of_rows(then, ">=", moment)
    return PhysicalPlan(SGBSpec(window, last, spec.groups, results), parts, now.label, why)


def _of_rows(aggregate: PhysicalPlan, where: str, moment: int) -> PhysicalPlan:
    """An aggregate of rows from before a moment, or from then on."""
    spec = aggregate.spec
    assert isinstance(spec, WindowSpec)
    time = Ref(spec.window.on, Type.TIMESTAMP)
    is_part = Call(where, (time, Literal(moment, Type.TIMESTAMP)))
    [prepared] = aggregate.inputs
    label = f"Select {spec.window.on} {where} {format_ticks(moment)}"
    rows = PhysicalPlan(SelectSpec(is_part), prepared.inputs, label, "the other part is another's")
    return replace(aggregate, inputs=(replace(prepared, inputs=(rows,)),))


def of_all_rows(part: PhysicalPlan) -> PhysicalPlan:
    """The aggregate of all rows of which this is one of a part of them."""
    [prepared] = part.inputs
    [rows] = prepared.inputs
    return replace(part, inputs=(replace(prepared, inputs=rows.inputs),))


def renamed_parts(
    befores: Iterable[PhysicalPlan], nows: Iterable[PhysicalPlan]
) -> Mapping[str, str]:
    """By id, what becomes of aggregates, and of what prepares their rows."""
    return {
        was.id: is_.id
        for before, now in zip(befores, nows, strict=True)
        for was, is_ in ((before, now), (before.inputs[0], now.inputs[0]))
    }


def is_by_wid(plan: PhysicalPlan) -> bool:
    return plan.spec.name == "WidAggregate" and isinstance(plan.inputs[0].spec, BucketSpec)


def joined(aggregate: PhysicalPlan) -> PhysicalPlan:
    """What an aggregate reads, below its Bucket or its panes."""
    return aggregate.inputs[0].inputs[0]


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
