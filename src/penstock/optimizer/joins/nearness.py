"""Nearness: how far apart any two times of one result of a join can lie.

Edges of a join and conditions that compare times bound the distance of some pairs. Bounds add up on
the way from time to time, so every other pair has one, too: the least that any way gives (local
windows). What lies in one window with the same third lies in that window together.

    a, b  within 3      b, c  within 5      a, c  within 8, unless they are nearer by themselves

Spec: dynamic-optimization 1.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.model.distances import Distance, bound_of
from penstock.model.joins import qualified
from penstock.plan.nodes import Edge, Join
from penstock.plan.nodes.spread import Bands, spreads
from penstock.windows import Band, JoinBand, TumblingBand

#: As good as no limit; two of them can still be added.
_FAR = 1 << 61

Limits = npt.NDArray[np.int64]
"""How much greater than a time (by row) another (by column) can be."""


class Nearness:
    """The bounds on distances between the times of a join's inputs."""

    def __init__(self, join: Join) -> None:
        self._join = join

    @cached_property
    def distances(self) -> list[Distance]:
        """What conditions say of times of two inputs, each as it is written."""
        found = map(bound_of, self._join.conditions)
        return [each for each in found if each is not None and self._is_between_times(each)]

    def _is_between_times(self, distance: Distance) -> bool:
        first, second = map(self._join.origin, (distance.first, distance.second))
        children = self._join.inputs
        return first.child != second.child and all(
            own in children[child].schema.progressing for child, own in (first, second)
        )

    @cached_property
    def times(self) -> tuple[tuple[str, ...], ...]:
        """For each input the columns that a band or a condition bounds, its own time first."""
        join = self._join
        columns = dict.fromkeys(join.times)
        columns |= dict.fromkeys(edge.left for edge in join.edges)
        columns |= dict.fromkeys(end for d in self.distances for end in (d.first, d.second))
        found: list[list[str]] = [[] for _ in join.inputs]
        for column in columns:
            found[join.origin(column).child].append(column)
        return tuple(map(tuple, found))

    # -- what follows -------------------------------------------------------------------------

    def band(self, left: str, right: str) -> JoinBand:
        """The narrowest band that two times must lie in."""
        for window, columns in self._windows:
            if {left, right} <= columns:
                return window
        mine, theirs = (self._numbers[column] for column in (left, right))
        return Band(-int(self._limits[theirs, mine]), int(self._limits[mine, theirs]))

    def nearest(self, lefts: Iterable[str], rights: Iterable[str]) -> Edge:
        """Of times of two groups of inputs the pair with the narrowest band, the first such."""
        rights = list(rights)
        edges = [Edge(left, right, self.band(left, right)) for left in lefts for right in rights]
        return min(edges, key=lambda edge: width(edge.band))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        columns = (column for columns in self.times for column in columns)
        return {column: number for number, column in enumerate(columns)}

    @cached_property
    def _windows(self) -> list[tuple[TumblingBand, frozenset[str]]]:
        """Tumbling windows, and the times that lie in the same one."""
        found: list[tuple[TumblingBand, frozenset[str]]] = []
        for edge in self._join.edges:
            if isinstance(edge.band, TumblingBand):
                columns = frozenset((edge.left, edge.right))
                for known in [each for each in found if each[0] == edge.band and each[1] & columns]:
                    found.remove(known)
                    columns |= known[1]
                found.append((edge.band, columns))
        return found

    @cached_property
    def _limits(self) -> Limits:
        """Between all times; where what is asked for contradicts itself, from the edges alone."""
        edges = [*self._edges(), *self._within_inputs()]
        limits = self._closed([*edges, *self.distances])
        return limits if (limits.diagonal() >= 0).all() else self._closed(edges)

    def _closed(self, distances: Iterable[Distance]) -> Limits:
        count = len(self._numbers)
        limits = np.full((count, count), _FAR)
        np.fill_diagonal(limits, 0)
        for each in distances:
            first, second = self._numbers[each.first], self._numbers[each.second]
            for at, limit in (((first, second), each.high), ((second, first), _negative(each.low))):
                if limit is not None:
                    # A looser limit holds as well, and sums stay numbers.
                    limits[at] = min(limits[at], max(limit, -_FAR >> 8))
        for by in range(count):
            added = np.minimum(limits[:, by, None] + limits[by], _FAR)
            limits = np.minimum(limits, np.where(limits[:, by, None] < _FAR, added, _FAR))
        return limits

    def _edges(self) -> Iterator[Distance]:
        for edge in self._join.edges:
            yield Distance(edge.left, edge.right, *_ends(edge.band))

    def _within_inputs(self) -> Iterator[Distance]:
        """Times of one input lie within bands of each other, if it is made of several."""
        for number, (first, *others) in enumerate(self.times):
            name, node = self._join.names[number], self._join.inputs[number]
            below = spreads(node, self._join.origin(first).column) if others else {}
            named = {qualified(name, own): bands for own, bands in below.items()}
            for other in others:
                if other in named:
                    yield Distance(first, other, *_added_up(named[other]))


class _Ends(NamedTuple):
    low: int
    high: int


def _ends(band: JoinBand) -> _Ends:
    if isinstance(band, Band):
        return _Ends(band.low, band.high)
    return _Ends(1 - band.width, band.width - 1)


def _added_up(bands: Bands) -> _Ends:
    """How far apart two times lie with these bands between them."""
    low = high = 0
    for band, side in bands:
        ends = _ends(band if side else mirrored(band))
        low, high = low + ends.low, high + ends.high
    return _Ends(low, high)


def _negative(limit: int | None) -> int | None:
    return None if limit is None else -limit


def width(band: JoinBand) -> int:
    """How much room a band leaves.

    >>> width(Band(-2, 3)), width(TumblingBand(6))
    (5, 5)
    """
    return band.high - band.low if isinstance(band, Band) else band.width - 1


def mirrored(band: JoinBand) -> JoinBand:
    """The same band with left and right exchanged.

    >>> mirrored(Band(-2, 3))
    Band(low=-3, high=2)
    """
    return Band(-band.high, -band.low) if isinstance(band, Band) else band
