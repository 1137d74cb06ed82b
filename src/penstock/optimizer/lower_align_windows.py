"""Several windows in one aggregate: each is lowered by itself, and their results are joined.

They read the same rows in the same groups, so on panes they share one store.
"""

from __future__ import annotations

from penstock.errors import PenstockBug
from penstock.optimizer.physical import Chosen
from penstock.optimizer.specs import AlignWindowsSpec
from penstock.plan import nodes
from penstock.windows import Sliding


def lower_align_windows(node: nodes.WindowAggregate) -> Chosen:
    """What joins the results of `node.apart`."""
    sides = tuple(part.named for part in node.apart)
    if not isinstance(node.window, Sliding):
        raise PenstockBug(f"{node.window} cannot be combined with other windows")
    columns = tuple(result.name for result in node.results)
    return Chosen(
        (AlignWindowsSpec(node.groups, sides, columns, node.window),),
        f"{len(sides)} windows that end together, each computed by itself",
    )
