"""Baselines: algorithms that exist to be compared with, put into plans in place of ours.

    with_buffering       rows are kept, and each window is computed from its rows when it closes;
                         or from the previous window, where all functions can subtract
    with_ordered_flush   the table of two levels evicts all of a window before any of a newer one

SET offers none of them: nobody who runs a query gains by them. Experiments and tests build them
over plans that were made with `aggregation = wid`, or `two_level`.  Spec: window-queries 3.6, 7.6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.kernel.aggregation.two_level.flush import IN_ORDER
from penstock.optimizer.physical import PhysicalPlan, Plans, rewritten
from penstock.optimizer.specs import LowLevelSpec, Spec, WindowSpec
from penstock.windows import Sliding


def with_buffering(plans: Plans, *, incremental: bool = False) -> Plans:
    """Plans whose sliding windows are computed from rows that are kept."""

    def baseline(spec: Spec) -> Spec:
        if not isinstance(spec, WindowSpec) or spec.algorithm != "WidAggregate":
            return spec
        if not isinstance(spec.window, Sliding):
            return spec
        subtracts = all(aggregate.is_invertible for _, aggregate in spec.results)
        algorithm = "BufferingIncremental" if incremental and subtracts else "Buffering"
        return replace(spec, algorithm=algorithm)

    return _exchanged(plans, baseline)


def with_ordered_flush(plans: Plans) -> Plans:
    """Plans whose tables of two levels evict window by window."""

    def baseline(spec: Spec) -> Spec:
        if not isinstance(spec, LowLevelSpec):
            return spec
        return replace(spec, flush=replace(spec.flush, policy=IN_ORDER))

    return _exchanged(plans, baseline)


def _exchanged(plans: Plans, baseline: Callable[[Spec], Spec]) -> Plans:
    def change(plan: PhysicalPlan, before: PhysicalPlan) -> PhysicalPlan:
        spec = baseline(plan.spec)
        if spec == plan.spec:
            return plan
        return replace(plan, spec=spec, reason=plan.reason and "a baseline, to compare with")

    return rewritten(plans, change)
