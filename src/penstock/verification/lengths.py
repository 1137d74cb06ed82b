"""The lengths that matter to queries: of windows, slides, bands and slack. Mistakes sit at their
ends, so rows are put there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

from penstock.model.streams import Stream
from penstock.plan import nodes
from penstock.plan.graph import streams_of, walk
from penstock.windows import Band, Cumulating, Sliding, Window
from penstock.windows.window import usual_origin

#: What windows call their lengths.
_LENGTHS = ("range", "slide", "gap", "step", "size")
#: Pairs of rows that the oracle may have to try for one case, and windows that it may have to fill.
MOST_PAIRS, MOST_WINDOWS = 40_000, 20_000
#: Rows in which it may have to look for patterns, from each of them on.
MOST_MATCHED = 40


@dataclass(frozen=True)
class WindowGrid:
    """Points at equal distances: where windows begin and end."""

    length: int
    origin: int = 0
    is_time: bool = True  # not numbers of a column

    def nearest(self, time: int) -> int:
        """The last point at or before a time.

        >>> WindowGrid(60).nearest(125)
        120
        """
        return self.origin + (time - self.origin) // self.length * self.length


def grids(plans: Sequence[nodes.Node]) -> list[WindowGrid]:
    """The lengths of time in the plans, each with where it is measured from."""
    found: dict[WindowGrid, None] = {}
    for node in (node for plan in plans for node in walk(plan)):
        for grid in _grids(node):
            if grid.length > 0:
                found.setdefault(grid)
    return list(found)


def common(grids: Sequence[WindowGrid]) -> WindowGrid | None:
    """The widest grid that all others are part of: on it, all edges meet; None: there is none.

    >>> common([WindowGrid(60), WindowGrid(45)])
    WindowGrid(length=15, origin=0, is_time=True)
    """
    if not grids:
        return None
    length = gcd(*(grid.length for grid in grids), *(grid.origin for grid in grids))
    # A length that fits to no other would leave rows as far apart as anywhere.
    return (
        WindowGrid(length, 0, grids[0].is_time)
        if length * 1000 >= max(grid.length for grid in grids)
        else None
    )


def for_stream(stream: Stream, grids: Sequence[WindowGrid]) -> list[WindowGrid]:
    """Those that are measured as the stream's own time is."""
    on = stream.timestamp
    is_time = on is None or stream.schema[on].type.is_time
    return [grid for grid in grids if grid.is_time == is_time]


def _grids(node: nodes.Node) -> Iterator[WindowGrid]:
    match node:
        case nodes.WindowAggregate():
            is_time = _is_time(node.input, node.window.on)
            own = (result.window for result in node.results)
            for window in (node.window, *(each for each in own if each is not None)):
                if getattr(window, "unit", "time") != "rows":
                    origin = getattr(window, "origin", 0) or usual_origin("time")
                    for name in _LENGTHS:
                        yield WindowGrid(getattr(window, name, 0), origin, is_time)
        case nodes.Join():
            is_time = _is_time(node.inputs[0], node.on[0])
            for edge in node.edges:
                if isinstance(edge.band, Band):
                    yield WindowGrid(abs(edge.band.low), 0, is_time)
                    yield WindowGrid(abs(edge.band.high), 0, is_time)
                else:
                    yield WindowGrid(edge.band.width, edge.band.origin, is_time)
        case nodes.MatchRecognize():
            yield WindowGrid(node.match.within or 0, 0, _is_time(node.input, node.match.on))
        case nodes.Sequence() if node.within is not None:
            yield WindowGrid(node.within, 0, _is_time(node.inputs[1], node.on[1]))
        case nodes.Source() if node.stream.timestamp is not None:
            yield WindowGrid(node.stream.slack or 0, 0, _is_time(node, node.stream.timestamp))


def _is_time(node: nodes.Node, column: str) -> bool:
    return node.schema[column].type.is_time


def most_rows(plans: Sequence[nodes.Node], wanted: int) -> dict[str, int]:
    """How many rows of each stream the oracle gets through: it tries all pairs, all windows."""
    found: dict[str, int] = {}
    for plan in plans:
        most = wanted
        for node in walk(plan):
            if isinstance(node, nodes.Join | nodes.Sequence):
                inputs = sum(isinstance(below, nodes.Source) for below in _leaves(node))
                most = min(most, int(MOST_PAIRS ** (1 / max(2, inputs))))
            if isinstance(node, nodes.WindowAggregate):
                most = min(most, MOST_WINDOWS // _windows_per_row(node.window))
            if isinstance(node, nodes.MatchRecognize):
                most = min(most, MOST_MATCHED)
        for name in streams_of(plan):
            found[name] = max(4, min(most, found.get(name, wanted)))
    return found


def _windows_per_row(window: Window) -> int:
    match window:
        case Sliding():
            return max(1, window.range // window.slide)
        case Cumulating():
            return max(1, window.size // window.step)
    return 1


def _leaves(node: nodes.Node) -> Iterator[nodes.Node]:
    """The sources of a plan, one as often as it is read."""
    if not node.children:
        yield node
    for below in node.children:
        yield from _leaves(below)
