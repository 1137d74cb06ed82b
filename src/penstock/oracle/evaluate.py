"""The slow evaluator: what a plan means, in plain Python, one row at a time.

Every fast way to run a query is judged by this one. It is therefore written from the definitions
and shares nothing with the kernel: windows come from `windows()` and `extent()` alone, never from
`wids`; joins try every pair; expressions have an interpreter of their own (`expressions`).

    evaluate(plan, inputs)                     the answer of a whole plan
    evaluate_window_aggregate(window, rows, …) the answer of one window aggregate

Rows are dicts, inputs lists of them in order of arrival, one list per stream name. Where a row has
no `row_num` yet, its position is its number. The order of answers means nothing: compare them with
`same_rows`, which also forgives the last digits of floating-point numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from penstock.model.schema import IS_FINAL, ROW_NUM, WINDOW_END, WINDOW_START
from penstock.model.types import DecimalType
from penstock.oracle.aggregates import AggregateCall, aggregate, call_of
from penstock.oracle.belonging import holds
from penstock.oracle.decimals import to_type
from penstock.oracle.event_time import in_union, with_event_time
from penstock.oracle.exploding import exploded
from penstock.oracle.expressions import value_of
from penstock.oracle.joins import join, table_join
from penstock.oracle.matching import matches as matches_of
from penstock.oracle.sequences import sequence
from penstock.plan import nodes
from penstock.plan.nodes import Node
from penstock.plan.row_windows import counted_rows
from penstock.windows import Row, Sliding, Window

AnyRow = TypeVar("AnyRow", bound=Row)

#: Output name -> what it is.
Aggregates = Mapping[str, AggregateCall]


# --- plans --------------------------------------------------------------------------------------


def evaluate(plan: Node, inputs: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    """All rows of the plan's answer, once every input is over."""
    match plan:
        case nodes.Source():
            return source(plan, inputs[plan.stream.name])
        case nodes.Select():
            return [row for row in evaluate(plan.input, inputs) if holds(plan.predicate, row)]
        case nodes.Project():
            rows = evaluate(plan.input, inputs)
            return [{c.name: value_of(c.value, row) for c in plan.columns} for row in rows]
        case nodes.Explode():
            return [new for row in evaluate(plan.input, inputs) for new in exploded(plan, row)]
        case nodes.Union():
            return [row for part in plan.parts for row in adapted(plan, part, inputs)]
        case nodes.WindowAggregate():
            aggregates = {result.name: call_of(result.aggregate) for result in plan.results}
            rows = with_event_time(plan.input, plan.window.on, inputs, evaluate)
            if plan.has_several_windows:
                assert isinstance(plan.window, Sliding)
                windows = {result.name: result.window or plan.window for result in plan.results}
                answer = evaluate_side_by_side(windows, rows, plan.groups, aggregates)
            else:
                answer = evaluate_window_aggregate(plan.window, rows, plan.groups, aggregates)
            answer = [exact_results(plan, row) for row in up_to_last_row(plan, answer, inputs)]
            # Revisions depend on when rows come; what stands in the end does not.
            return answer if plan.emit is None else [{**row, IS_FINAL: True} for row in answer]
        case nodes.Numbered():
            # In the order in which a single stream brings them; of several, whoever sees them come
            # must say in which.
            rows = evaluate(plan.input, inputs)
            return [{**row, ROW_NUM: number} for number, row in enumerate(rows, start=1)]
        case nodes.Ordered():
            # The order is a contract on how rows come, which whoever sees them come must check.
            return evaluate(plan.input, inputs)
        case nodes.Join():
            return join(plan, [evaluate(child, inputs) for child in plan.inputs])
        case nodes.MatchRecognize():
            return matches_of(plan.match, evaluate(plan.input, inputs))
        case nodes.Sequence():
            return sequence(plan, *(evaluate(child, inputs) for child in plan.inputs))
        case nodes.TableJoin():
            return table_join(plan, evaluate(plan.input, inputs))
    raise AssertionError(f"no such node: {plan!r}")


def source(plan: nodes.Source, rows: Sequence[Row]) -> list[dict[str, Any]]:
    numbered = ({ROW_NUM: number, **row} for number, row in enumerate(rows, start=1))
    return [{name: row[name] for name in plan.schema.names} for row in numbered]


def adapted(
    union: nodes.Union, part: Node, inputs: Mapping[str, Sequence[Row]]
) -> list[dict[str, Any]]:
    """The rows of one input under the union's names and types."""
    return [in_union(union, part, row) for row in evaluate(part, inputs)]


# --- window aggregates --------------------------------------------------------------------------


def evaluate_window_aggregate(
    window: Window, rows: Sequence[Row], groups: Sequence[str], aggregates: Aggregates
) -> list[dict[str, Any]]:
    """One row per window and group that has rows; NULLs in `groups` form a group."""
    answer = []
    for wid in window.windows(rows):
        start, end = window.bounds(wid)
        members: dict[tuple[Any, ...], list[Row]] = {}
        for row in window.extent(wid, rows):
            members.setdefault(tuple(hashable(row[name]) for name in groups), []).append(row)
        for group in members.values():
            results = {name: aggregate(group, *call) for name, call in aggregates.items()}
            keys = {name: group[0][name] for name in groups}
            answer.append({**keys, **results, WINDOW_START: start, WINDOW_END: end})
    return answer


def hashable(value: Any) -> Any:
    """A value that may have parts, as a key."""
    if isinstance(value, dict):
        return tuple((name, hashable(part)) for name, part in value.items())
    return tuple(map(hashable, value)) if isinstance(value, list) else value


def exact_results(plan: nodes.WindowAggregate, row: dict[str, Any]) -> dict[str, Any]:
    """Sums and averages of decimals as their types hold them."""
    types = {result.name: result.aggregate.type for result in plan.results}
    return {
        name: to_type(value, of)
        if isinstance(of := types.get(name), DecimalType) and value is not None
        else value
        for name, value in row.items()
    }


def up_to_last_row(
    plan: nodes.WindowAggregate, answer: list[dict[str, Any]], inputs: Mapping[str, Sequence[Row]]
) -> list[dict[str, Any]]:
    """Of windows over rows those in whose last step there is a row of what they count."""
    counted = counted_rows(plan)
    if counted is None:
        return answer
    assert isinstance(plan.window, Sliding)
    last = len(evaluate(counted, inputs))
    return [row for row in answer if row[WINDOW_END] - plan.window.slide <= last]


def evaluate_side_by_side(
    windows: Mapping[str, Sliding],
    rows: Sequence[Row],
    groups: Sequence[str],
    aggregates: Aggregates,
) -> list[dict[str, Any]]:
    """One row per end and group where a window that ends there has rows; each result over its own.

    `windows` are those of the results by name. A row begins where the first of them does.
    """
    longest = max(windows.values(), key=lambda window: window.range)
    nothing = {name: aggregate([], *aggregates[name]) for name in windows}
    answer: dict[tuple[Any, ...], dict[str, Any]] = {}
    for name, window in windows.items():
        for row in evaluate_window_aggregate(window, rows, groups, {name: aggregates[name]}):
            key = (row[WINDOW_END], *(hashable(row[each]) for each in groups))
            begin = row[WINDOW_END] - longest.range
            answer.setdefault(key, {**row, **nothing, WINDOW_START: begin})[name] = row[name]
    return list(answer.values())


# --- comparing ----------------------------------------------------------------------------------


def same_rows(ours: Iterable[Row], theirs: Iterable[Row], tolerance: float = 1e-9) -> bool:
    """Whether both hold the same rows the same number of times, in whatever order."""
    return apart(ours, theirs, tolerance) == ([], [])


def apart(
    expected: Iterable[AnyRow],
    got: Iterable[AnyRow],
    tolerance: float,
    loose: Mapping[str, tuple[float, float]] = MappingProxyType({}),
) -> tuple[list[AnyRow], list[AnyRow]]:
    """Rows that only one of the two has, counting how often.

    Floating-point numbers may differ in their last digits; those in a column of `loose` by a share
    of what is expected, or by so much at least.
    """
    alike: dict[tuple[Any, ...], list[AnyRow]] = {}
    for row in got:
        alike.setdefault(exact(row, loose), []).append(row)
    missing = []
    for row in expected:
        candidates = alike.get(exact(row, loose), [])
        found = next((other for other in candidates if near(row, other, tolerance, loose)), None)
        if found is None:
            missing.append(row)
        else:
            candidates.remove(found)
    return missing, [row for rows in alike.values() for row in rows]


def exact(row: Row, loose: Mapping[str, Any]) -> tuple[Any, ...]:
    """What must be equal: 1, 1.0 and true are three different values."""
    return tuple(
        (name, type(value).__name__, None if isinstance(value, float) else hashable(value))
        for name, value in sorted(row.items())
        if name not in loose
    )


def near(row: Row, other: Row, tolerance: float, loose: Mapping[str, tuple[float, float]]) -> bool:
    for name, value in row.items():
        theirs = other[name]
        if name in loose and value is not None and theirs is not None:
            share, least = loose[name]
            if abs(value - theirs) > max(share * abs(value), least):
                return False
        elif not close(value, theirs, tolerance):
            return False
    return True


def close(mine: Any, yours: Any, tolerance: float) -> bool:
    if isinstance(mine, float) and isinstance(yours, float):
        both_nan = math.isnan(mine) and math.isnan(yours)
        return both_nan or math.isclose(mine, yours, rel_tol=tolerance, abs_tol=tolerance)
    return type(mine) is type(yours) and bool(mine == yours)
