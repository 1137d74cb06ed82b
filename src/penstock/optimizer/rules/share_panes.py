"""Let aggregates over the same rows in the same groups share one store of panes.

    PanedWid [RANGE 6, SLIDE 2]              PanedWid [RANGE 6, SLIDE 2]
      PaneStore panes of 2: sum(v)             PaneStore panes of 1: max(v), sum(v)
    PanedWid [RANGE 9, SLIDE 3]              PanedWid [RANGE 9, SLIDE 3]
      PaneStore panes of 3: max(v)             the same

Whatever their windows and functions are: the store keeps panes short enough and partial aggregates
enough for all. Queries that are declared together get a store for all of them. One that comes later
reads a store that runs already and suits it, or gets its own: what runs does not change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

from penstock.kernel.aggregation.panes.pane_store import aggregates_of
from penstock.optimizer.codec import canonical
from penstock.optimizer.physical import PhysicalPlan, Plans, rewritten, walk
from penstock.optimizer.specs import PanedWidSpec, PaneStoreSpec
from penstock.windows import Sliding
from penstock.windows.panes import common_panes

_Key: TypeAlias = tuple[PhysicalPlan, tuple[str, ...], str, bool]


def share_panes(plans: Plans, running: Plans) -> Plans:
    """The plans with one store for all who can share it."""
    wanted: dict[_Key, list[PanedWidSpec]] = {}
    for reader, store in _readers(plans):
        wanted.setdefault(_key(store), []).append(reader)
    there = [store for _, store in _readers(running)]

    def change(plan: PhysicalPlan, before: PhysicalPlan) -> PhysicalPlan:
        if not isinstance(plan.spec, PanedWidSpec):
            return plan
        [store] = plan.inputs
        found = next((other for other in there if _suits(other, store, plan.spec)), None)
        readers = wanted[_key(before.inputs[0])]
        shared = f"; {len(readers)} windows share them" if len(readers) > 1 else ""
        shared = "; a running query stores them already" if found is not None else shared
        store = found or _common(store, readers)
        assert isinstance(store.spec, PaneStoreSpec)
        count = store.spec.panes.per_window(plan.spec.window)
        reason = f"{count} panes per window{shared}; {plan.reason}"
        return replace(plan, inputs=(store,), reason=reason)

    return rewritten(plans, change)


def _readers(plans: Plans) -> Iterable[tuple[PanedWidSpec, PhysicalPlan]]:
    for plan in walk(plans.values()):
        if isinstance(plan.spec, PanedWidSpec):
            yield plan.spec, plan.inputs[0]


def _key(store: PhysicalPlan) -> _Key:
    """What those have in common who can share a store."""
    assert isinstance(store.spec, PaneStoreSpec)
    return store.inputs[0], store.spec.groups, store.spec.panes.on, store.spec.adapts


def _common(store: PhysicalPlan, readers: list[PanedWidSpec]) -> PhysicalPlan:
    """A store for all of the readers; the same whatever order they were declared in."""
    windows: list[Sliding] = [reader.window for reader in readers]
    aggregates = {aggregate for reader in readers for _, aggregate in reader.results}
    assert isinstance(store.spec, PaneStoreSpec)
    spec = replace(
        store.spec,
        aggregates=tuple(sorted(aggregates, key=canonical)),
        panes=common_panes(windows),
    )
    return replace(store, spec=spec)


def _suits(there: PhysicalPlan, store: PhysicalPlan, reader: PanedWidSpec) -> bool:
    """Whether a store that runs has all that a reader needs."""
    if _key(there) != _key(store):
        return False
    assert isinstance(there.spec, PaneStoreSpec)
    kept = aggregates_of(there.spec.groups, there.spec.aggregates).parts
    needed = aggregates_of(reader.groups, (aggregate for _, aggregate in reader.results)).parts
    return there.spec.panes.fit(reader.window) and set(needed) <= set(kept)
