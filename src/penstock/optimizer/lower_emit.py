"""Aggregates that EMIT early: WID, whose partials of open windows are at hand at any time.

Panes are complete only when a bound says so, and Spark's own operators put out no revisions
beside final results; so neither is chosen here.
"""

from __future__ import annotations

from penstock.errors import PenstockBug
from penstock.model.emit import Emit
from penstock.optimizer.physical import Chosen
from penstock.optimizer.specs import BucketSpec, WindowSpec
from penstock.plan import nodes
from penstock.windows import Cumulating, Landmark, Sliding


def lower_emitting(node: nodes.WindowAggregate, emit: Emit, *, consistent: bool) -> Chosen:
    """WID that revises."""
    window = node.window
    if not isinstance(window, Sliding | Cumulating | Landmark):
        raise PenstockBug(f"{window} has no early results")
    algorithm = "RevisingLandmark" if isinstance(window, Landmark) else "RevisingWid"
    return Chosen(
        (
            BucketSpec(window, emit.every),
            WindowSpec(algorithm, node.groups, node.named, window, emit, consistent),
        ),
        f"{emit}: partial aggregates of open windows can be read at any time, and tell what "
        "changed",
    )
