"""Altering: a query that runs gets other operators, and loses nothing.

Which aggregates hand over to which others is found by comparing plans (`optimizer/alter.py`). Each
begins here; when it is over, `rechoosing` notices, as for those that it has begun itself.
"""

from __future__ import annotations

from penstock.kernel.aggregation.driver import IdDriver
from penstock.optimizer.alter import annotated, takeovers
from penstock.optimizer.physical import PhysicalPlan, Plans
from penstock.optimizer.rechoose import begin_for
from penstock.runtime.graph_host import GraphHost


def alter(host: GraphHost, plans: Plans, query: str, wanted: PhysicalPlan) -> Plans:
    """Have the host compute a query as wanted; gives the plans that it runs then.

    NotExecutable, with nothing changed, if it cannot without losing what it keeps. The host must
    have run as far as it can.
    """
    while changes := takeovers(query, plans[query], wanted):
        now, then = changes[0]  # those above it read something else after it
        operator = host.graph.nodes[now.id].operator
        assert isinstance(operator, IdDriver)
        change = begin_for([query], plans, now, then, operator.first_untouched())
        host.change(change)
        plans = change.plans
    return {**plans, query: annotated(plans[query], wanted)}
