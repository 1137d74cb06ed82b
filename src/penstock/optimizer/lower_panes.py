"""Which aggregates run on panes; which of them share a store is decided in `rules/share_panes`."""

from __future__ import annotations

from penstock.optimizer.cost.aggregation import Load, panes_per_window, time_paned, time_wid
from penstock.optimizer.options import AUTO, Options
from penstock.optimizer.physical import Chosen
from penstock.optimizer.specs import PanedWidSpec, PaneStoreSpec
from penstock.plan import nodes
from penstock.windows import Sliding
from penstock.windows.panes import common_panes

#: Panes that are merged for every window. WID, which lets neighbouring windows share what they have
#: in common, was found faster from about here on: the model knows nothing of that.
MOST_MERGED = 100


def paned(node: nodes.WindowAggregate, options: Options) -> Chosen | None:
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
    aggregates = [result.aggregate for result in node.results]
    differential = all(aggregate.is_invertible for aggregate in aggregates)
    holistic = any(aggregate.is_holistic for aggregate in aggregates)
    count = panes_per_window(window)
    if options.aggregation == AUTO:
        if count == 1:
            return None
        if not differential and not holistic and count > MOST_MERGED:
            return None
        load = Load()
        if not holistic and time_paned(window, load, differential) >= time_wid(window, load):
            return None
    how = (
        "windows follow from each other by adding and taking away panes"
        if differential
        else "panes keep values once, not once per window"
        if holistic
        else "a row updates one pane, and windows merge panes"
    )
    adapts = options.aggregation == "adapt_paned"
    if adapts:
        how += "; open panes keep a group as partials or as rows, whichever takes less memory"
    results = tuple((result.name, result.aggregate) for result in node.results)
    return Chosen(
        (
            PaneStoreSpec(node.groups, tuple(aggregates), common_panes([window]), adapts),
            PanedWidSpec(node.groups, results, window),
        ),
        how,
    )
