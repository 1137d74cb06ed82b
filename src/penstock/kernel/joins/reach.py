"""Reach: how far apart in time the rows of one result can lie, for any two inputs of a join.

Two inputs that are joined directly lie within a band; the bands on the way between two others add
up. From that follows when a row can go, the bounds on each timestamp of a join's
results, and the bounds of its inputs that these need (`purge` has the rules of a single band).
Spec: window-queries 6.1, 6.2; dynamic-optimization 1.6, 1.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.kernel.joins.purge import goes_at, keep_from
from penstock.windows import JoinBand

Edge = tuple[tuple[int, int], JoinBand]
"""Two inputs, and the band that their times lie in."""

Ways = dict[tuple[int, int], list[tuple[JoinBand, int]]]
"""For two inputs the bands from one to the other, the last of them first."""


class Reach:
    """The bands of a tree of inputs."""

    def __init__(self, ports: int, edges: Iterable[Edge]) -> None:
        self._ports = range(ports)
        self._ways = _ways(ports, list(edges))

    def first(self, port: int, other: int, bound: int) -> int:
        """The least time of a row that can be in a result with another's at or behind the bound."""
        return along(self._ways[port, other], bound)

    def keep_from(self, port: int, bounds: Sequence[int]) -> int:
        """First timestamp of an input's rows to keep.

        A row can go when no row that is still to come, of any other input, can be in a result with
        it.
        """
        return min(self.first(port, each, bounds[each]) for each in self._ports if each != port)

    def output_bound(self, port: int, bounds: Sequence[int]) -> int:
        """The bound of results on an input's times: they need a new row of it, or a kept one.

        >>> from penstock.windows import Band
        >>> Reach(2, [((0, 1), Band(low=-2, high=3))]).output_bound(0, [20, 10])
        7
        """
        return min(bounds[port], self.keep_from(port, bounds))

    def needed(self, port: int, bound: int) -> list[int]:
        """The bound that each input must have for such an output bound."""
        return [back_along(self._ways[port, other], bound) for other in self._ports]


def along(bands: Iterable[tuple[JoinBand, int]], bound: int) -> int:
    """What a bound on one time says of another, with these bands between them."""
    for band, side in bands:
        bound = keep_from(band, side, bound)
    return bound


def back_along(bands: Sequence[tuple[JoinBand, int]], bound: int) -> int:
    """The least bound that says so much behind these bands."""
    for band, side in reversed(bands):
        bound = goes_at(band, side, bound)
    return bound


def _ways(ports: int, edges: list[Edge]) -> Ways:
    ways: Ways = {}
    for port in range(ports):
        found: dict[int, list[tuple[JoinBand, int]]] = {port: []}
        reached = [port]
        for at in reached:
            for ends, band in edges:
                for side in (0, 1):
                    goal = ends[1 - side]
                    if ends[side] == at and goal not in found:
                        found[goal] = [(band, side), *found[at]]
                        reached.append(goal)
        ways |= {(port, other): bands for other, bands in found.items()}
    return ways
