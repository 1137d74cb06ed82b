"""Windows over rows, and the stream whose rows they count."""

from __future__ import annotations

from penstock.model.expressions import Ref
from penstock.model.schema import ROW_NUM
from penstock.model.streams import Stream
from penstock.plan import nodes
from penstock.windows import Sliding


def counted_stream(node: nodes.WindowAggregate) -> Stream | None:
    """The stream that sliding windows over rows count; None: the windows are of another kind.

    Behind a join rows are counted by pairs, which tell nothing of how many the stream has.
    """
    window = node.window
    if not isinstance(window, Sliding) or window.unit != "rows":
        return None
    return _numbered_by(node.input, window.on)


def _numbered_by(node: nodes.Node, column: str) -> Stream | None:
    """The stream whose row number the column is."""
    match node:
        case nodes.Source():
            return node.stream if column == ROW_NUM else None
        case nodes.Select() | nodes.Ordered():
            return _numbered_by(node.input, column)
        case nodes.Project():
            value = next(c.value for c in node.columns if c.name == column)
            return _numbered_by(node.input, value.name) if isinstance(value, Ref) else None
        case nodes.TableJoin():
            return _numbered_by(node.input, column.removeprefix(f"{node.names[0]}."))
    return None
