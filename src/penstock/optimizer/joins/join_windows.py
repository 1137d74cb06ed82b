"""JoinWindows: how far apart in time the inputs of a join may lie, and how many rows that makes.

A *band* (low, high) of a pair (i, j) allows `low <= t_j - t_i <= high`; a pair without one has what
follows from the others, by the shortest path. Times are in seconds here. Of a set of k inputs

    together   combinations whose times allow them, a second, if every input has a row a second
    kept       seconds that such combinations wait for partners, a second: how many are stored

A combination is stored from its latest time on until no row of the other inputs can come that its
times allow. With one window W for all pairs these are `k W^(k-1)` and `W^k`; where all lie in the
same tumbling window of width w, `w^(k-1)` and `w^k / (k+1)`. In general they are volumes of
polytopes: estimated by evenly spread points, always the same, or of many inputs by the product of
the widths of narrow bands.  Spec: dynamic-optimization 1.3, 2.3.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from penstock.optimizer.joins.inputs import Inputs, members

POINTS = 2048
#: Of more inputs than these, volumes are estimated roughly.
FEW = 6


@dataclass(frozen=True)
class JoinWindows:
    """Bands by pairs of inputs, or one tumbling window for all of them."""

    count: int
    bands: Mapping[tuple[int, int], tuple[float, float]]
    tumbling: float | None = None
    whole_runs: bool = False
    _known: dict[tuple[Inputs, Inputs], tuple[float, float]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        assert all(0 <= i < j < self.count for i, j in self.bands), f"not pairs: {[*self.bands]}"
        assert math.isfinite(self.reach.max()), "windows do not connect all inputs"

    @classmethod
    def everywhere(cls, count: int, window: float) -> JoinWindows:
        """Every two rows at most this far apart."""
        pairs = itertools.combinations(range(count), 2)
        return cls(count, dict.fromkeys(pairs, (-window, window)))

    @classmethod
    def in_the_same(cls, count: int, width: float) -> JoinWindows:
        """All rows in the same tumbling window."""
        pairs = itertools.combinations(range(count), 2)
        return cls(count, dict.fromkeys(pairs, (-width, width)), width)

    def as_json(self) -> dict[str, Any]:
        bands = [[*pair, *map(float, band)] for pair, band in self.bands.items()]
        return {"bands": bands, "tumbling": self.tumbling, "whole_runs": self.whole_runs}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], count: int) -> JoinWindows:
        """The windows of so many inputs that were written so."""
        bands = {(i, j): (float(low), float(high)) for i, j, low, high in data["bands"]}
        return cls(count, bands, data["tumbling"], data["whole_runs"])

    @cached_property
    def reach(self) -> np.ndarray:
        """By inputs i and j, how much later than a row of i one of j can be at most."""
        reach = np.full((self.count, self.count), np.inf)
        np.fill_diagonal(reach, 0.0)
        for (i, j), (low, high) in self.bands.items():
            reach[i, j], reach[j, i] = high, -low
        for via in range(self.count):
            reach = np.minimum(reach, reach[:, via, None] + reach[None, via, :])
        return reach

    @cached_property
    def window(self) -> float | None:
        """The window that all pairs have in common; None: they differ."""
        apart = self.reach[~np.eye(self.count, dtype=bool)]
        return float(apart[0]) if apart.size and np.ptp(apart) <= 1e-9 * abs(apart[0]) else None

    @cached_property
    def banded(self) -> np.ndarray:
        """By two inputs, 1 where there is a band between them, by which pairs are tested."""
        found = np.zeros((self.count, self.count), dtype=np.int64)
        for i, j in self.bands if self.tumbling is None else ():
            found[i, j] = found[j, i] = 1
        return found

    def together(self, inputs: Inputs) -> float:
        """Combinations of these inputs a second."""
        k = inputs.bit_count()
        if self.tumbling is not None:
            return float(self.tumbling ** (k - 1))
        if self.window is not None:
            return float(k * self.window ** (k - 1))
        return self._volumes(inputs, 0)[0]

    def kept(self, inputs: Inputs, others: Inputs) -> float:
        """Combinations of these inputs that are stored for partners among the others."""
        k = inputs.bit_count()
        if self.tumbling is not None:
            return float(self.tumbling**k / (k + 1))
        if self.window is not None:
            return float(self.window**k)
        return self._volumes(inputs, others)[1]

    def stays(self, inputs: Sequence[Inputs]) -> np.ndarray:
        """By input of an operator, the seconds for which what comes to it stays, needed or not.

        Rows go in whole runs (`whole_runs`): results of joining several stay until the latest of
        those that came together can go. And what waits for results of joining others waits for the
        oldest row that can still be in one.
        """
        # How much later than one input's row another's can come with what it is part of.
        until = np.array(
            [self.reach[:, members(each)].max(axis=1) + self._lag(each) for each in inputs]
        )
        found = [
            np.delete(until, number, axis=0)[:, members(each)].max(axis=0).min()
            for number, each in enumerate(inputs)
        ]
        return np.maximum(0.0, found)

    def widths(self, inputs: Sequence[Inputs]) -> np.ndarray:
        """By two inputs of an operator, the width of the narrowest band between them."""
        both_ways = self.reach + self.reach.T
        nearest = np.array([both_ways[:, members(each)].min(axis=1) for each in inputs])
        return np.array([nearest[:, members(each)].min(axis=1) for each in inputs])

    def _lag(self, inputs: Inputs) -> float:
        """How far behind the newest row the oldest one can be in results of joining several."""
        if inputs.bit_count() == 1:
            return 0.0
        own = members(inputs)
        return max(0.0, float(self.reach[np.ix_(own, own)].max()))

    def _volumes(self, inputs: Inputs, others: Inputs) -> tuple[float, float]:
        key = inputs, others
        if key not in self._known:
            self._known[key] = self._estimated(members(inputs), members(others))
        return self._known[key]

    def _estimated(self, own: tuple[int, ...], others: tuple[int, ...]) -> tuple[float, float]:
        if len(own) > FEW:
            return self._roughly(own, others)
        times, volume = self._spread(own)
        allowed = np.ones(times.shape[1], dtype=bool)
        for (i, one), (j, other) in itertools.combinations(enumerate(own), 2):
            apart = times[j] - times[i]
            allowed &= (apart <= self.reach[one, other] + 1e-9) & (
                apart >= -self.reach[other, one] - 1e-9
            )
        share = float(allowed.mean())
        if not others:
            return volume * share, 0.0
        # Partners of another input can come until the least time up to which all own rows allow it.
        until = [
            np.min([times[i] + self.reach[one, other] for i, one in enumerate(own)], axis=0)
            for other in others
        ]
        waits = np.maximum(0.0, np.max(until, axis=0) - times.max(axis=0))
        return volume * share, volume * float((waits * allowed).mean())

    def _roughly(self, own: tuple[int, ...], others: tuple[int, ...]) -> tuple[float, float]:
        """As if all bands followed from those of a tree, and times were spread evenly."""
        volume = math.prod(self._width(own[i], own[j]) for i, j in self._narrow(own))
        reach = self.reach[np.ix_(own, others)].max(axis=1).min() if others else 0.0
        return volume, volume * max(0.0, float(reach)) / len(own)

    def _spread(self, own: tuple[int, ...]) -> tuple[np.ndarray, float]:
        """Times of combinations, spread evenly over a tree of narrow bands, and its volume."""
        points = evenly_spread(len(own) - 1)
        times, volume = np.zeros((len(own), POINTS)), 1.0
        for number, (i, j) in enumerate(self._narrow(own)):
            width, low = self._width(own[i], own[j]), -self.reach[own[j], own[i]]
            times[j] = times[i] + low + width * points[number]
            volume *= width
        return times, volume

    def _narrow(self, own: tuple[int, ...]) -> Iterator[tuple[int, int]]:
        """Edges of a tree of narrow bands, by places, each from what was reached before."""
        nearest = {j: (self._width(own[0], own[j]), 0) for j in range(1, len(own))}
        while nearest:
            new = min(nearest, key=lambda each: nearest[each][0])
            yield nearest.pop(new)[1], new
            for j, (width, _) in nearest.items():
                if (now := self._width(own[new], own[j])) < width:
                    nearest[j] = now, new

    def _width(self, one: int, other: int) -> float:
        return float(self.reach[one, other] + self.reach[other, one])


@lru_cache(maxsize=64)
def evenly_spread(dimensions: int) -> np.ndarray:
    """Points that fill a unit cube evenly: multiples of powers of a generalised golden ratio."""
    ratio = 2.0
    for _ in range(32):
        ratio = (1 + ratio) ** (1 / (dimensions + 1))
    steps = ratio ** -np.arange(1, dimensions + 1)
    return np.asarray((0.5 + steps[:, None] * np.arange(1, POINTS + 1)) % 1.0)
