"""Altering: a query that runs gets other operators, and loses nothing.

Which aggregates and joins hand over to which others is found by comparing plans
(`optimizer/alter.py`). Each begins here; when it is over, `rechoosing` notices, as for those that
it has begun itself.
"""

from __future__ import annotations

from penstock.kernel.aggregation.driver import IdDriver
from penstock.model.timestamps import BEGINNING
from penstock.optimizer.alter import annotated, takeovers
from penstock.optimizer.joins.box import box_below
from penstock.optimizer.options import AUTO
from penstock.optimizer.physical import PhysicalPlan, Plans
from penstock.optimizer.rechoose import begin_for
from penstock.optimizer.regroup import are_regrouped, reach_of, streams_of
from penstock.runtime.graph_host import GraphHost
from penstock.runtime.migrating import migrate
from penstock.runtime.rechoosing import note_handover
from penstock.windows import Sliding


def alter(
    host: GraphHost,
    plans: Plans,
    query: str,
    wanted: PhysicalPlan,
    migration: str = AUTO,
    reason: str = "",
) -> Plans:
    """Have the host compute a query as wanted; gives the plans that it runs then.

    `migration` says how joins give way to others (`migrating`), `reason` why, for those who look.
    NotExecutable, with nothing changed, if it cannot without losing what it keeps. The host must
    have run as far as it can.
    """
    while changes := takeovers(query, plans[query], wanted):
        now, then = changes[0]  # those above it read something else after it
        if box_below(then) is not None:
            plans = migrate(host, plans, query, now, then, migration, reason)
            continue
        change = begin_for([query], plans, now, then, _first_of(host, now, then))
        host.change(change)
        note_handover(host, query, (now, then), change, reason)
        plans = change.plans
    return {**plans, query: annotated(plans[query], wanted)}


def _first_of(host: GraphHost, now: PhysicalPlan, then: PhysicalPlan) -> int:
    """The first window with which another aggregate can take over."""
    operator = host.graph.nodes[now.id].operator
    assert isinstance(operator, IdDriver)
    first = operator.first_untouched()
    if not are_regrouped(now, then):
        return first
    # Rows may have come to joins below, and not to the aggregate.
    window = operator.window
    assert isinstance(window, Sliding)
    newest = max(max(host.inputs[name].latest().values()) for name in streams_of(now))
    if newest == BEGINNING:
        return first
    return max(first, window.wid_range(newest + reach_of(now, then))[1])
