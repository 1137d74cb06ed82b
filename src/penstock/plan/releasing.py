"""What a promise lets out: whether raising the bound of a plan's inputs can set anything free.

Results wait for bounds in windows, in joins that look for what has no partner, and where order is
kept. A window's result leaves when the bound passes its end, so between two ends nothing happens;
of the others any rise may let out something. Plain joins hold rows only for those still to come:
nothing waits there.  Spec: window-queries 1.2, 3.2, 6.1.
"""

from __future__ import annotations

from penstock.model.timestamps import BEGINNING, END
from penstock.plan import nodes
from penstock.plan.graph import walk
from penstock.windows import Sliding


def lets_out(
    plan: nodes.Node, low: int, raised: int, *, union: str = "meld", purging: bool = False
) -> bool:
    """Whether results may leave when the least bound of all inputs rises from `low` to `raised`.

    `purging`: rows that a join need not keep any more count as well.
    """
    if raised <= low:
        return False
    found = list(walk(plan))
    if purging and any(isinstance(node, nodes.WindowJoin) for node in found):
        return True
    return any(_lets_out(node, low, raised, union) for node in found)


def _lets_out(node: nodes.Node, low: int, raised: int, union: str) -> bool:
    match node:
        case nodes.WindowAggregate(window=Sliding() as window):
            if window.unit == "rows":
                return False
            if any(isinstance(n, nodes.WindowJoin) for n in walk(node)):
                return True  # whose bounds lag behind those of its inputs
            if low <= BEGINNING or raised >= END:
                return True
            first, last = ((b - window.origin) // window.slide for b in (low, raised))
            return first != last
        case nodes.WindowAggregate() | nodes.Ordered():
            return True
        case nodes.WindowJoin():
            return any(node.kind.keeps_alone(side) for side in (0, 1))
        case nodes.Union():
            return union == "merge"
    return False
