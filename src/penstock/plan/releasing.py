"""What punctuation lets out, where nobody has said what is held: from the plan alone.

Operators know better (`kernel/progress/release.py`). Until they have told, it is taken that
whatever can wait does. Results wait for bounds in windows, in joins that
look for what has no partner, and where order is kept. A window's result leaves when the bound
passes its end, so between two ends nothing happens; of the others any rise may let out something.
Plain joins hold rows only for those still to come: nothing waits there.
Spec: window-queries 1.2, 3.2, 6.1.
"""

from __future__ import annotations

from penstock.model.timestamps import BEGINNING, END
from penstock.plan import nodes
from penstock.plan.graph import walk
from penstock.plan.waiting import passes
from penstock.windows import Sliding


def forgets(plan: nodes.Node) -> bool:
    """Whether punctuation may let a join or a sequence forget rows."""
    return any(isinstance(node, nodes.Join | nodes.Sequence) for node in walk(plan))


def lets_out(plan: nodes.Node, low: int, raised: int, *, merges: bool = False) -> bool:
    """Whether results may leave when the least bound of all inputs rises from `low` to `raised`;
    `merges`: its unions keep order."""
    return raised > low and any(_lets_out(node, low, raised, merges) for node in walk(plan))


def _changes_bounds(node: nodes.Node) -> bool:
    """Whether bounds behind a node may be others than those of the streams."""
    if isinstance(node, nodes.Project):
        return any(not node.lineage(name) for name in node.progress)
    return isinstance(
        node, nodes.Join | nodes.Sequence | nodes.WindowAggregate | nodes.MatchRecognize
    )


def _lets_out(node: nodes.Node, low: int, raised: int, merges: bool) -> bool:
    match node:
        case nodes.WindowAggregate(window=Sliding() as window):
            if window.unit == "rows":
                return False
            if any(map(_changes_bounds, walk(node.input))):
                return True
            if low <= BEGINNING or raised >= END:
                return True
            first, last = ((b - window.origin) // window.slide for b in (low, raised))
            return first != last
        case nodes.Join():
            return any(node.kind.keeps_alone(side) for side in (0, 1))
    return not passes(node, merges)
