"""Which aggregates run on panes, and which of them share a store.

Aggregates over the same rows in the same groups can share one store of panes, whatever their
windows and functions, if it keeps panes short enough and parts enough for all. Queries that are
declared together get a store for all of them; one that comes later reads a store that suits it, or
gets its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from penstock.kernel.aggregation.adapt.adapt_pane_store import AdaptPaneStore
from penstock.kernel.aggregation.panes.pane_store import PaneStore, calculation_of
from penstock.kernel.aggregation.panes.paned_wid import PanedWid
from penstock.model.aggregates import Aggregate
from penstock.optimizer.cost.aggregation import Load, panes_per_window, time_paned, time_wid
from penstock.optimizer.physical import AUTO, Physical
from penstock.plan import nodes
from penstock.windows import Sliding
from penstock.windows.panes import Panes, common_panes

#: Panes that are merged for every window. WID, which lets neighbouring windows share what they have
#: in common, was found faster from about here on: the model knows nothing of that.
MOST_MERGED = 100


def paned(node: nodes.WindowAggregate, aggregation: str) -> Physical | None:
    """Paned-WID for this aggregate, if it is chosen."""
    window = node.window
    if node.emit is not None or node.has_several_windows:
        return None
    if (
        aggregation not in (AUTO, "paned", "adapt_paned")
        or not isinstance(window, Sliding)
        or window.has_gaps
    ):
        return None
    aggregates = [result.aggregate for result in node.results]
    differential = all(aggregate.is_invertible for aggregate in aggregates)
    holistic = any(aggregate.is_holistic for aggregate in aggregates)
    count = panes_per_window(window)
    if aggregation == AUTO:
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
    store = store_of(aggregation)
    if store is AdaptPaneStore:
        how += "; open panes keep a group as partials or as rows, whichever takes less memory"
    return Physical((), (store.__name__, "PanedWid"), f"{count} panes per window; {how}")


def store_of(aggregation: str) -> type[PaneStore]:
    """Who keeps the panes."""
    return AdaptPaneStore if aggregation == "adapt_paned" else PaneStore


@dataclass(frozen=True)
class Shared:
    """Aggregates that can share a store."""

    input: nodes.Node
    groups: tuple[str, ...]
    on: str


@dataclass
class Wanted:
    """What a store for all of them has to offer."""

    windows: list[Sliding] = field(default_factory=list)
    aggregates: list[Aggregate] = field(default_factory=list)

    def store(self, of: type[PaneStore], groups: Sequence[str]) -> PaneStore:
        return of(groups, dict.fromkeys(self.aggregates), common_panes(self.windows))


def shared_of(node: nodes.WindowAggregate) -> Shared:
    return Shared(node.input, node.groups, node.window.on)


def wanted_by(aggregates: Iterable[nodes.WindowAggregate]) -> Wanted:
    wanted = Wanted()
    for node in aggregates:
        assert isinstance(node.window, Sliding)
        wanted.windows.append(node.window)
        wanted.aggregates += [result.aggregate for result in node.results]
    return wanted


def suits(store: PaneStore, node: nodes.WindowAggregate) -> bool:
    """Whether a store that is there has all that an aggregate needs."""
    assert isinstance(node.window, Sliding)
    panes: Panes = store.panes
    needed = calculation_of(node.groups, (result.aggregate for result in node.results)).parts
    return panes.fit(node.window) and set(needed) <= set(store.calculation.parts)


def reader(store: PaneStore, node: nodes.WindowAggregate) -> PanedWid:
    assert isinstance(node.window, Sliding)
    results = tuple((result.name, result.aggregate) for result in node.results)
    return PanedWid(store, node.groups, results, node.window)
