"""Several windows in one aggregate: each is lowered by itself, and their results are joined.

They read the same rows in the same groups, so on panes they share one store.
"""

from __future__ import annotations

from functools import partial

from penstock.errors import PenstockBug
from penstock.kernel.aggregation.align_windows import AlignWindows
from penstock.optimizer.physical import Physical
from penstock.plan import nodes
from penstock.windows import Sliding


def lower_align_windows(node: nodes.WindowAggregate) -> Physical:
    """What joins the results of `node.apart`."""
    sides = tuple(
        tuple((result.name, result.aggregate) for result in part.results) for part in node.apart
    )
    if not isinstance(node.window, Sliding):
        raise PenstockBug(f"{node.window} cannot stand beside others")
    columns = tuple(result.name for result in node.results)
    return Physical(
        (partial(AlignWindows, node.groups, sides, columns, node.window),),
        ("AlignWindows",),
        f"{len(sides)} windows that end together, each computed by itself",
    )
