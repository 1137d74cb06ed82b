"""WindowAggregate: an algorithm for every kind of window."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.optimizer.cost.aggregation import Estimate
from penstock.optimizer.lower_align_windows import lower_align_windows
from penstock.optimizer.lower_emit import lower_emitting
from penstock.optimizer.lower_panes import estimated, paned
from penstock.optimizer.lower_two_level import two_level
from penstock.optimizer.options import AUTO, Options
from penstock.optimizer.physical import Chosen
from penstock.optimizer.rules.late_rows import with_late_rows
from penstock.optimizer.specs import BucketSpec, Results, UpToLastRowSpec, WindowSpec
from penstock.optimizer.statistics import Statistics
from penstock.plan import nodes
from penstock.plan.row_windows import counted_rows
from penstock.windows import (
    Cumulating,
    EndedByRows,
    Landmark,
    Partitioned,
    Session,
    Sliding,
    Tagged,
)

_WID = (
    "WidAggregate",
    "window ids follow from the row alone; one partial aggregate per group and open window",
)
#: Window -> its operator, and why.
_ALGORITHMS: dict[Any, tuple[str, str]] = {
    Sliding: _WID,
    Cumulating: _WID,
    Landmark: (
        "LandmarkAggregate",
        "one partial aggregate per group and open step, and one for everything before",
    ),
    EndedByRows: (
        "BinsAggregate",
        "later rows decide where windows end; one bin per point where the aggregate can change",
    ),
    Partitioned: (
        "PartitionedAggregate",
        "each partition counts its own rows; one partial aggregate per group and pane",
    ),
    Session: (
        "SessionAggregate",
        "one partial aggregate per group and part of a session, merged when the session ends",
    ),
}


def lower_window_aggregate(
    node: nodes.WindowAggregate, options: Options, statistics: Statistics
) -> Chosen:
    options = with_late_rows(options)
    if node.has_several_windows:
        return lower_align_windows(node)
    if node.emit is not None:
        chosen = lower_emitting(node, node.emit, consistent=options.late == "consistent")
    else:
        chosen = (
            paned(node, options, statistics)
            or two_level(node, options)
            or _one_level(node, options, estimated(node, options, statistics))
        )
    chosen = replace(chosen, reason=chosen.reason + _only_adding(node))
    window = node.window
    if isinstance(window, Sliding) and window.range > window.slide and counted_rows(node):
        # Rows are also in windows that end after the last row.
        return replace(chosen, specs=(*chosen.specs, UpToLastRowSpec(window)))
    return chosen


def _only_adding(node: nodes.WindowAggregate) -> str:
    """What functions of users without a merge make of it."""
    users = (result.aggregate.user for result in node.results)
    names = dict.fromkeys(
        f"`{user.name}`" for user in users if user is not None and not user.merges
    )
    if not names:
        return ""
    verb = "has" if len(names) == 1 else "have"
    return (
        f"; {', '.join(names)} {verb} no merge: rows are kept, and added in the order of "
        f"{node.window.on} when a window closes"
    )


def _one_level(node: nodes.WindowAggregate, options: Options, found: Estimate | None) -> Chosen:
    window = node.window
    algorithm, reason = next(
        found for kind, found in _ALGORITHMS.items() if isinstance(window, kind)
    )
    if isinstance(window, Sliding):
        if options.aggregation == "adapt":
            algorithm = "AdaptWid"
            reason = "as set; per group partial aggregates or rows, whichever takes less memory"
        elif options.aggregation == AUTO and node.groups:
            reason += "; AdaptWID takes less memory where most groups have few rows"
    consistent = options.late == "consistent"
    spec = WindowSpec(algorithm, node.groups, node.named, window, consistent=consistent)
    return _chosen(spec, reason, found)


def by_windows(
    groups: tuple[str, ...], results: Results, window: Sliding, found: Estimate
) -> Chosen:
    """WID, and the reason."""
    algorithm, reason = _WID
    return _chosen(WindowSpec(algorithm, groups, results, window), reason, found)


def _chosen(spec: WindowSpec, reason: str, found: Estimate | None) -> Chosen:
    if found is not None:
        reason += f"; {found}"
    window = spec.window
    specs = (BucketSpec(window), spec) if isinstance(window, Tagged) else (spec,)
    return Chosen(specs, reason, None if found is None else found.wid)
