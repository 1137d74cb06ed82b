"""What punctuation lets out, for hosts that cannot say what they hold: from the plan alone.

Where the kernel runs, its operators know better (`kernel/progress/release.py`). Spark's own do not
tell, so it is taken that whatever can wait does. Results wait for bounds in windows, in joins that
look for what has no partner, and where order is kept. A window's result leaves when the bound
passes its end, so between two ends nothing happens; of the others any rise may let out something.
Plain joins hold rows only for those still to come: nothing waits there.
Spec: window-queries 1.2, 3.2, 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.model.releases import Release, Releases
from penstock.model.timestamps import BEGINNING, END
from penstock.plan import nodes
from penstock.plan.graph import streams_of, walk
from penstock.plan.waiting import passes
from penstock.windows import Sliding


def next_window(plan: nodes.Node, bounds: Mapping[str, int]) -> Releases:
    """What lets the next row out at the earliest, if every window that is open holds rows.

    `bounds` are those of the plan's streams.
    """
    low = min(bounds.values(), default=END)
    ends = [
        node.window.origin
        + ((low - node.window.origin) // node.window.slide + 1) * node.window.slide
        for node in walk(plan)
        if isinstance(node, nodes.WindowAggregate)
        and isinstance(node.window, Sliding)
        and low > BEGINNING
    ]
    if not ends or low >= END:
        return Releases(known=low >= END)
    needed = {
        (name, str(stream.timestamp)): min(ends)
        for name, stream in streams_of(plan).items()
        if bounds[name] < min(ends)
    }
    return Releases((Release(needed, certain=False),))


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
