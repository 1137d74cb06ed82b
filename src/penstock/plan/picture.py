"""Plans as pictures: DOT text for Graphviz, and SVG drawn here, without any program installed.

The layout is layered: a node stands one row below the lowest of its inputs, sources on top, queries
at the bottom; within a row, nodes stand near the mean of their inputs. Plans are small, so one
sweep is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from textwrap import wrap

from penstock.plan.graph import walk
from penstock.plan.nodes import Node, Source

_CHARS = 34  # characters a line of a box
_BOX_WIDTH = 250
_LINE = 15
_PAD = 9
_GAP_X, _GAP_Y = 28, 44


def to_dot(queries: Mapping[str, Node]) -> str:
    """Plans by query in Graphviz' language."""
    ids = {node: f"n{number}" for number, node in enumerate(walk(*queries.values()))}
    lines = ["digraph penstock {", "  rankdir=TB;", '  node [shape=box, fontname="sans-serif"];']
    for node, name in ids.items():
        text = "\\n".join(_dot_text(line) for line in wrap(node.label, _CHARS))
        shape = ", style=rounded" if isinstance(node, Source) else ""
        lines.append(f'  {name} [label="{text}"{shape}];')
    for number, query in enumerate(queries):
        lines.append(f'  q{number} [label="{_dot_text(query)}", shape=ellipse];')
    for node, name in ids.items():
        lines.extend(f"  {ids[below]} -> {name};" for below in node.children)
    for number, plan in enumerate(queries.values()):
        lines.append(f"  {ids[plan]} -> q{number};")
    return "\n".join([*lines, "}"]) + "\n"


def _dot_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


@dataclass
class _Box:
    lines: list[str]
    style: str
    rank: int
    inputs: list[_Box]
    x: float = 0
    y: float = 0

    @property
    def height(self) -> int:
        return _LINE * len(self.lines) + 2 * _PAD


def to_svg(queries: Mapping[str, Node]) -> str:
    """Plans by query as an SVG document."""
    rows = _rows(queries)
    width, height = _place(rows)
    boxes = [box for row in rows for box in row]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        "<style>rect{fill:#fff;stroke:#456}.source rect{fill:#e8f1f8}.query rect{fill:#eef6e6}"
        "path{fill:none;stroke:#789}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#789"/></marker></defs>',
    ]
    parts.extend(_arc(below, box) for box in boxes for below in box.inputs)
    parts.extend(_draw(box) for box in boxes)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _rows(queries: Mapping[str, Node]) -> list[list[_Box]]:
    boxes: dict[Node, _Box] = {}
    for node in walk(*queries.values()):
        inputs = [boxes[below] for below in node.children]
        rank = 1 + max((box.rank for box in inputs), default=-1)
        style = "source" if isinstance(node, Source) else "operator"
        boxes[node] = _Box(wrap(node.label, _CHARS), style, rank, inputs)
    last = 1 + max((box.rank for box in boxes.values()), default=-1)
    ends = [_Box([name], "query", last, [boxes[plan]]) for name, plan in queries.items()]
    rows: list[list[_Box]] = [[] for _ in range(last + 1)]
    for box in (*boxes.values(), *ends):
        rows[box.rank].append(box)
    return rows


def _place(rows: list[list[_Box]]) -> tuple[int, int]:
    """Give every box its place; gives the size of the drawing."""
    step = _BOX_WIDTH + _GAP_X
    y: float = _GAP_X
    for row in rows:
        for box in row:
            wanted = [below.x for below in box.inputs]
            box.x = sum(wanted) / len(wanted) if wanted else _GAP_X
            box.y = y
        row.sort(key=lambda box: box.x)
        for left, box in pairwise(row):
            box.x = max(box.x, left.x + step)
        y += max((box.height for box in row), default=0) + _GAP_Y
    right = max((box.x for row in rows for box in row), default=0) + step
    return round(right), round(y - _GAP_Y + _GAP_X)


def _arc(above: _Box, below: _Box) -> str:
    x1, y1 = above.x + _BOX_WIDTH / 2, above.y + above.height
    x2, y2 = below.x + _BOX_WIDTH / 2, below.y
    middle = (y1 + y2) / 2
    return (
        f'<path d="M{x1:g} {y1:g}C{x1:g} {middle:g} {x2:g} {middle:g} {x2:g} {y2:g}" '
        'marker-end="url(#tip)"/>'
    )


def _draw(box: _Box) -> str:
    radius = {"source": 10, "query": 16}.get(box.style, 3)
    text = "".join(
        f'<text x="{box.x + _BOX_WIDTH / 2:g}" y="{box.y + _PAD + _LINE * (i + 0.8):g}" '
        f'text-anchor="middle">{escape(line)}</text>'
        for i, line in enumerate(box.lines)
    )
    return (
        f'<g class="{box.style}"><rect x="{box.x:g}" y="{box.y:g}" width="{_BOX_WIDTH}" '
        f'height="{box.height}" rx="{radius}"/>{text}</g>'
    )
