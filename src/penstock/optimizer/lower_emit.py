"""Aggregates that EMIT early: WID, whose partials of open windows are at hand at any time.

Panes are complete only when a promise says so, and Spark's own operators put out no revisions
beside final results; so neither is chosen here.
"""

from __future__ import annotations

from functools import partial

from penstock.errors import PenstockBug
from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.aggregation.wid.revisions import PeriodBucket, RevisingLandmark, RevisingWid
from penstock.model.emit import Emit
from penstock.optimizer.physical import Physical
from penstock.plan import nodes
from penstock.windows import Cumulating, Landmark, Sliding


def lower_emitting(node: nodes.WindowAggregate, emit: Emit) -> Physical:
    """WID that revises."""
    results = tuple((result.name, result.aggregate) for result in node.results)
    window = node.window
    if not isinstance(window, Sliding | Cumulating | Landmark):
        raise PenstockBug(f"{window} cannot be revised")
    bucket = (
        partial(Bucket, window) if emit.every is None else partial(PeriodBucket, window, emit.every)
    )
    aggregate = (
        partial(RevisingLandmark, node.groups, results, window, emit)
        if isinstance(window, Landmark)
        else partial(RevisingWid, node.groups, results, window, emit)
    )
    return Physical(
        (bucket, aggregate),
        ("Bucket", aggregate.func.__name__),
        f"{emit}: partials of open windows can be read at any time, and say what changed",
    )
