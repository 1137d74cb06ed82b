"""WindowAggregate: Bucket and WID for windows whose ids depend on nothing but the row.

Partitioned, landmark, cumulating and slide-by-tuple windows have their semantics in `windows` and
no operator yet; they are refused here, before anything runs.
"""

from __future__ import annotations

from functools import partial

from penstock.errors import NotExecutable
from penstock.kernel.aggregation.bucket import Bucket
from penstock.kernel.aggregation.wid import WidAggregate
from penstock.lower.physical import Physical
from penstock.plan import nodes
from penstock.windows import Sliding


def lower_window_aggregate(node: nodes.WindowAggregate) -> Physical:
    window = node.window
    if not isinstance(window, Sliding):
        raise NotExecutable(
            f"cannot run {window}: there is no operator for {type(window).__name__} windows",
            hint="sliding and tumbling windows run: [RANGE r, SLIDE s] over time or row numbers",
        )
    results = tuple((result.name, result.aggregate) for result in node.results)
    return Physical(
        (partial(Bucket, window), partial(WidAggregate, node.groups, results, window)),
        ("Bucket", "WidAggregate"),
        "ids follow from the row alone; one partial aggregate per group and open window",
    )
