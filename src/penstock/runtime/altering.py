"""Altering: a query that runs gets other operators, and loses nothing.

Which aggregates and joins hand over to which others is found by comparing plans
(`optimizer/alter.py`). Each begins here; when it is over, `rechoosing` notices, as for those that
it has begun itself.
"""

from __future__ import annotations

from penstock.kernel.aggregation.driver import IdDriver
from penstock.optimizer.alter import annotated, respecified, takeovers
from penstock.optimizer.joins.box import box_below
from penstock.optimizer.options import AUTO
from penstock.optimizer.physical import PhysicalPlan, Plans, walk
from penstock.optimizer.rechoose import Change, begin_for
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
    return _respecified(host, {**plans, query: annotated(plans[query], wanted)}, query, wanted)


def _respecified(host: GraphHost, plans: Plans, query: str, wanted: PhysicalPlan) -> Plans:
    """Have joins that stay know of times what they would in the plan that is wanted.

    Where others run such joins, with a part of their own of the results, they stay as they are.
    """
    then = respecified(plans[query], wanted)
    before, after = plans[query].walk(), then.walk()
    if len(before) != len(after):  # two have become one, and each has rows of its own
        return plans
    renamed = {was.id: now.id for was, now in zip(before, after, strict=True) if was.id != now.id}
    there = {each.id for each in walk(plan for name, plan in plans.items() if name != query)}
    if not renamed or not there.isdisjoint(renamed.values()):
        return plans
    change = Change({**plans, query: then}, renamed, ("", ""))
    host.change(change)
    return change.plans
