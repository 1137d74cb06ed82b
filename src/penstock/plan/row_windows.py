"""Windows over rows, and the stream whose rows they count."""

from __future__ import annotations

from penstock.model.schema import ROW_NUM
from penstock.model.streams import Stream
from penstock.plan import nodes
from penstock.plan.graph import trace
from penstock.windows import Sliding


def counted_stream(node: nodes.WindowAggregate) -> Stream | None:
    """The stream that sliding windows over rows count; None: the windows are of another kind.

    Behind a join rows are counted by pairs, which tell nothing of how many the stream has.
    """
    window = node.window
    if not isinstance(window, Sliding) or window.unit != "rows":
        return None
    found = trace(node.input, window.on, nodes.Source)
    return found[0].stream if found is not None and found[1] == ROW_NUM else None
