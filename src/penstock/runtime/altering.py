"""Altering: a query that runs gets other operators, and loses nothing.

Which aggregates and joins hand over to which others is found by comparing plans
(`optimizer/alter.py`). Each begins here; when it is over, `rechoosing` notices, as for those that
it has begun itself.
"""

from __future__ import annotations

from penstock.kernel.aggregation.driver import IdDriver
from penstock.optimizer.alter import annotated, takeovers
from penstock.optimizer.joins.box import box_below
from penstock.optimizer.options import AUTO
from penstock.optimizer.physical import PhysicalPlan, Plans
from penstock.optimizer.rechoose import begin_for
from penstock.optimizer.regroup import are_regrouped
from penstock.runtime.graph_host import GraphHost
from penstock.runtime.migrating import migrate
from penstock.runtime.rechoosing import note_handover
from penstock.runtime.regrouping import Regrouping


def alter(
    host: GraphHost,
    plans: Plans,
    query: str,
    wanted: PhysicalPlan,
    migration: str = AUTO,
    reason: str = "",
) -> Plans:
    """Have the host compute a query as wanted; gives the plans that it runs then.

    `migration` says how joins give way to others (`migrating`), and aggregates above joins to those
    below them (`regrouping`), `reason` why, for those who look.
    NotExecutable, with nothing changed, if it cannot without losing what it keeps. The host must
    have run as far as it can.
    """
    while changes := takeovers(query, plans[query], wanted):
        now, then = changes[0]  # those above it read something else after it
        if box_below(then) is not None:
            plans = migrate(host, plans, query, now, then, migration, reason)
            continue
        if are_regrouped(now, then):
            plans = Regrouping(host, plans, query, now, then, reason).carried_out(migration)
            continue
        operator = host.graph.nodes[now.id].operator
        assert isinstance(operator, IdDriver)
        change = begin_for([query], plans, now, then, operator.first_untouched())
        host.change(change)
        note_handover(host, query, (now, then), change, reason)
        plans = change.plans
    return {**plans, query: annotated(plans[query], wanted)}
