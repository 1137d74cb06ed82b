"""The low level of two-level aggregation packet by packet, and a ring buffer in front of it.

The algorithms are the printed ones: a table of fixed size, one packet at a time, and what each
packet makes the low level do: aggregates it puts out, slots it looks at. What that takes is stated
(`COSTS`), not measured; time is virtual. Packets that the low level has not got to wait in a ring
buffer of fixed size; one that finds it full is lost.

Everything that counts packets or groups (groups, slots, ring, packets per window) is scaled down by
`SCALE`, so that a run is short; rates and costs per packet are not. Surges and the ring shrink
alike, so the rate from which on packets are lost stays what it is.  Spec: window-queries 7.5, 7.6.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

SCALE = 1024
WINDOW_SECONDS = 60
#: Packets that the ring may hold; which of them the published system had is not known.
RINGS = (32_768, 65_536, 131_072)
#: Microseconds for a packet, for an aggregate that is put out, for a slot that is looked at.
COSTS = (1.0, 1.0, 0.05)

Work: TypeAlias = tuple[int, int]
"""Aggregates put out and slots looked at for one packet."""
Policy: TypeAlias = Callable[[Sequence[int], int, int, int], Iterator[Work]]


def iop_slow_flush(packets: Sequence[int], per_window: int, size: int, seed: int) -> Iterator[Work]:
    """Fig 8-6: old aggregates leave one by one, and all of them when two new ones collide.

    As deployed, a new one that collides with another tries the next slot as well.
    """
    slot_of = _slots(size, seed)
    group: list[int] = [-1] * size  # -1: empty
    born = [0] * size
    window, done, pos = -1, True, 0
    old: set[int] = set()
    for number, key in enumerate(packets):
        out = looked = 0
        if number // per_window != window:
            window = number // per_window
            out += _flush(old, group)  # if the last round is not done
            old = {slot for slot in range(size) if group[slot] >= 0}
            done, pos = not old, 0
        if not done:
            looked += 1
            if pos in old:
                old.discard(pos)
                group[pos] = -1
                out += 1
            pos += 1
            done = pos >= size
        slot = slot_of(key)
        other = (slot + 1) % size
        for place in (slot, other):
            if group[place] == key and born[place] == window:
                break
        else:
            place = next((p for p in (slot, other) if group[p] < 0 or p in old), -1)
            if place < 0:
                out += _flush(old, group) + 1  # order: what is old goes before what is new
                done, place = True, slot
            elif group[place] >= 0:
                out += 1
            old.discard(place)
            group[place], born[place] = key, window
        yield out, looked


def oop_lazy_flush(
    packets: Sequence[int], per_window: int, size: int, seed: int, m: int = 2
) -> Iterator[Work]:
    """Collisions throw aggregates out; those more than m windows old go when a window begins."""
    return _oop(packets, per_window, size, seed, m, None)


def oop_slow_flush(
    packets: Sequence[int], per_window: int, size: int, seed: int, m: int = 2, i: int = 160
) -> Iterator[Work]:
    """The same, and one old aggregate leaves for every i packets."""
    return _oop(packets, per_window, size, seed, m, i)


def _oop(
    packets: Sequence[int], per_window: int, size: int, seed: int, m: int, i: int | None
) -> Iterator[Work]:
    slot_of = _slots(size, seed)
    group: list[int] = [-1] * size
    born = [0] * size
    window, pos, left = -1, 0, 0
    for number, key in enumerate(packets):
        out = looked = 0
        if number // per_window != window:
            window = number // per_window
            overdue = [s for s in range(size) if group[s] >= 0 and born[s] < window - m]
            out += _flush(set(overdue), group)
            left = size  # slots to look at before it is known that nothing old is there
        if i is not None and number % i == 0:
            while left and not (group[pos] >= 0 and born[pos] < window):
                pos, left, looked = (pos + 1) % size, left - 1, looked + 1
            if left:
                group[pos] = -1
                out += 1
        slot = slot_of(key)
        if group[slot] != key or born[slot] != window:
            out += group[slot] >= 0
            group[slot], born[slot] = key, window
        yield out, looked


def _flush(slots: set[int], group: list[int]) -> int:
    for slot in slots:
        group[slot] = -1
    flushed = len(slots)
    slots.clear()
    return flushed


def _slots(size: int, seed: int) -> Callable[[int], int]:
    """A hash function: the same group is always in the same slot."""
    known: dict[int, int] = {}
    draw = random.Random(seed)

    def slot_of(key: int) -> int:
        if key not in known:
            known[key] = draw.randrange(size)
        return known[key]

    return slot_of


@dataclass(frozen=True, eq=False)
class Timeline:
    """A run at a fixed rate: when packets come, when they are done, and how busy that keeps."""

    arrivals: npt.NDArray[np.float64]
    finished: npt.NDArray[np.float64]
    busy: float

    def lossless(self, ring: int) -> bool:
        """Whether packet n finds the place of packet n - ring free."""
        return bool((self.finished[:-ring] <= self.arrivals[ring:]).all())


@cache
def run_at(policy: Policy, rate: int, groups: int, slots: int, windows: int = 3) -> Timeline:
    """Packets of equally likely groups at a fixed rate (a second), for some windows."""
    per_window = rate * WINDOW_SECONDS // SCALE
    draw = np.random.default_rng(groups)
    packets = draw.integers(0, groups // SCALE, per_window * windows).tolist()
    work = np.array(list(policy(packets, per_window, slots // SCALE, 7)), dtype=np.float64)
    costs = COSTS[0] + work[:, 0] * COSTS[1] + work[:, 1] * COSTS[2]
    arrivals = np.arange(len(costs), dtype=np.float64) * np.float64(1e6 / rate)
    finished = finish_times(arrivals, costs)
    return Timeline(arrivals, finished, float(costs.sum() / max(finished[-1], arrivals[-1])))


def finish_times(
    arrivals: npt.NDArray[np.float64], costs: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """When each packet is done, one after the other.

    >>> finish_times(np.array([0.0, 1.0, 9.0]), np.array([3.0, 1.0, 1.0])).tolist()
    [3.0, 4.0, 10.0]
    """
    spent = np.cumsum(costs)
    found: npt.NDArray[np.float64] = spent + np.maximum.accumulate(arrivals - spent + costs)
    return found


def highest_rate(
    policy: Policy, groups: int, slots: int, ring: int, step: int
) -> tuple[int, float]:
    """The highest multiple of `step` up to which nothing is lost, and how busy it is then."""
    low, high = 0, 1_100_000 // step
    while high - low > 1:
        middle = (low + high) // 2
        lossless = run_at(policy, middle * step, groups, slots).lossless(ring // SCALE)
        low, high = (middle, high) if lossless else (low, middle)
    rate = max(low, 1) * step
    return rate, run_at(policy, rate, groups, slots).busy
