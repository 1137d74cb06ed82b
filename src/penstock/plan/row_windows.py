"""Windows over rows, and whose rows they count: a stream's, or those that come to the window."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.schema import ROW_NUM, WINDOW_END, WINDOW_START
from penstock.plan import nodes
from penstock.plan.graph import trace
from penstock.windows import Sliding


def counted_rows(node: nodes.WindowAggregate) -> nodes.Source | nodes.Numbered | None:
    """Whose rows sliding windows over rows count; None: the windows are of another kind.

    Where pairs of a join carry a stream's number, they tell nothing of how many rows it has.
    """
    window = node.window
    if not isinstance(window, Sliding) or window.unit != "rows":
        return None
    numbered = trace(node.input, window.on, nodes.Numbered)
    if numbered is not None:
        return numbered[0] if numbered[1] == ROW_NUM else None
    found = trace(node.input, window.on, nodes.Source)
    return found[0] if found is not None and found[1] == ROW_NUM else None


def numbered_by(node: nodes.Node, column: str) -> Iterator[nodes.Node]:
    """Whose rows a column counts, directly or in steps; none: it is no number of rows."""
    match node:
        case nodes.Source() | nodes.Numbered() if column == ROW_NUM:
            yield node
        case nodes.Project():
            [value] = (each.value for each in node.columns if each.name == column)
            for name in value.refs & node.input.schema.progressing:
                yield from numbered_by(node.input, name)
        case nodes.WindowAggregate() if column in (WINDOW_START, WINDOW_END):
            yield from numbered_by(node.input, node.window.on)
        case _:
            for child, own in node.lineage(column):
                yield from numbered_by(node.children[child], own)
