"""Which aggregates run on panes; which of them share a store is decided in `rules/share_panes`."""

from __future__ import annotations

from penstock.optimizer.cost.aggregation import Estimate, estimate, panes_per_window
from penstock.optimizer.options import AUTO, Options
from penstock.optimizer.physical import Chosen
from penstock.optimizer.specs import PanedWidSpec, PaneStoreSpec, Results
from penstock.optimizer.statistics import Statistics
from penstock.plan import nodes
from penstock.windows import Sliding
from penstock.windows.panes import common_panes


def estimated(
    node: nodes.WindowAggregate, options: Options, statistics: Statistics
) -> Estimate | None:
    """What the aggregate costs with panes and without, where that is what decides."""
    window = node.window
    if options.aggregation != AUTO or not isinstance(window, Sliding) or window.has_gaps:
        return None
    if panes_per_window(window) == 1 or any(r.aggregate.is_holistic for r in node.results):
        return None
    aggregates = [result.aggregate for result in node.results]
    load, costs = statistics.load(node), statistics.costs
    return estimate(window, node.groups, aggregates, load, costs, statistics.sharers_of(node))


def paned(node: nodes.WindowAggregate, options: Options, statistics: Statistics) -> Chosen | None:
    """Paned-WID for this aggregate, if it is chosen."""
    window = node.window
    if node.emit is not None or node.has_several_windows:
        return None
    if (
        options.aggregation not in (AUTO, "paned", "adapt_paned")
        or not isinstance(window, Sliding)
        or window.has_gaps
    ):
        return None
    found = estimated(node, options, statistics)
    wants_none = panes_per_window(window) == 1 or (found is not None and found.wid < found.paned)
    if options.aggregation == AUTO and wants_none:
        return None
    return by_panes(node.groups, node.named, window, found, options.aggregation == "adapt_paned")


def by_panes(
    groups: tuple[str, ...],
    results: Results,
    window: Sliding,
    found: Estimate | None,
    adapts: bool = False,
) -> Chosen:
    """Paned-WID with a store of its own, and the reason."""
    aggregates = tuple(aggregate for _, aggregate in results)
    how = (
        "each window follows from the previous one by adding and subtracting panes"
        if all(aggregate.is_invertible for aggregate in aggregates)
        else "panes store values once, not once per window"
        if any(aggregate.is_holistic for aggregate in aggregates)
        else "a row updates one pane, and windows merge panes"
    )
    if adapts:
        how += (
            "; open panes store a group as partial aggregates or as rows, whichever takes less "
            "memory"
        )
    if found is not None:
        how += f"; {found}"
    return Chosen(
        (
            PaneStoreSpec(groups, aggregates, common_panes([window]), adapts),
            PanedWidSpec(groups, results, window),
        ),
        how,
        None if found is None else found.paned,
    )
