"""The low level of two-level aggregation, as it is, behind a ring buffer of packets.

`Bucket` and `LowLevel` are the operators of this system. Packets come to them in blocks, and the
processor time of each block is measured. Packets that the low level has not got to wait in a ring
of fixed size; one that finds it full is lost. Since all packets take part in the same way, what a
block takes does not depend on the rate at which they come: it is measured once, and the rest is
arithmetic on a line of time.

Everything that counts packets or groups (groups, slots, ring, block, packets per window) is scaled
down alike, so that a run is short; rates are not. A window has `PER_GROUP` packets of each group,
after which it holds nearly all of them: what comes then only takes longer.
Spec: window-queries 7.5, 7.6.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from penstock.kernel.aggregation.two_level.flush import Flush
from penstock.kernel.aggregation.two_level.two_level import LowLevel
from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.block import Block
from penstock.model.aggregates import Aggregate
from penstock.model.punctuation import Punctuation
from penstock.windows import Sliding

#: Packets that the ring holds. The published size is not known; this one was not varied.
RING = 65_536
#: Packets that come to the low level together.
BLOCK = 8_192
PER_GROUP = 8
WINDOWS = 4
#: Packets a second by which the rate is raised.
STEP = 5_000

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Work:
    """What each block took the low level, in seconds, and how many aggregates it put out."""

    took: Floats
    put_out: npt.NDArray[np.int64]
    block: int

    @property
    def surge(self) -> int:
        """The block that put out the most."""
        return int(self.put_out.argmax())

    def busy(self, rate: float) -> float:
        """The share of time in which the processor has something to do, at most 1."""
        return min(1.0, float(self.took.sum()) * rate / (self.block * len(self.took)))


class _Count:
    def __init__(self) -> None:
        self.rows = 0

    def batch(self, block: Block) -> None:
        self.rows += len(block)

    def punctuation(self, punctuation: Punctuation) -> None:
        pass


class _Next:
    def __init__(self, low: LowLevel, out: _Count) -> None:
        self._low, self._out = low, out

    def batch(self, block: Block) -> None:
        self._low.on_batch(0, block, self._out)

    def punctuation(self, punctuation: Punctuation) -> None:
        self._low.on_punctuation(0, punctuation, self._out)


def measure(
    policies: Mapping[str, Flush], groups: int, slots: int, scale: int, seed: int, repeats: int
) -> dict[str, Work]:
    """Q8-1 over packets of equally likely groups, by policy: the least time of each block.

    Policies take turns, so that all see the same machine; every run has the same packets.
    """
    runs: dict[str, list[Work]] = {name: [] for name in policies}
    for _ in range(repeats):
        for name, flush in policies.items():
            runs[name].append(_run(flush, groups // scale, slots // scale, BLOCK // scale, seed))
    return {
        name: replace(found[0], took=np.min([run.took for run in found], axis=0))
        for name, found in runs.items()
    }


def _run(flush: Flush, groups: int, slots: int, block: int, seed: int) -> Work:
    per_window = -(-groups * PER_GROUP // block) * block
    bucket = Bucket(Sliding("ts", per_window, per_window))
    low = LowLevel(("srcIP", "destIP"), (("n", Aggregate("count")),), slots, flush)
    out = _Count()
    after = _Next(low, out)
    draw = np.random.default_rng([seed, groups])
    took, put_out = [], []
    for start in range(0, per_window * WINDOWS, block):
        hosts = draw.integers(0, groups, block).astype(np.int32)
        times = np.arange(start, start + block)
        rows = pl.DataFrame({"srcIP": hosts, "destIP": hosts, "ts": times})
        before, begun = out.rows, time.process_time()
        bucket.on_punctuation(0, Punctuation("ts", start), after)
        bucket.on_batch(0, Block(rows), after)
        took.append(time.process_time() - begun)
        put_out.append(out.rows - before)
    return Work(np.array(took), np.array(put_out), block)


def highest_rate(work: Work, ring: int) -> int:
    """The highest multiple of STEP at which no packet is lost."""
    low, high = 0, int(work.block / work.took.mean() / STEP) + 2
    while high - low > 1:
        middle = (low + high) // 2
        lossless = is_lossless(work, ring, middle * STEP)
        low, high = (middle, high) if lossless else (low, middle)
    return low * STEP


def is_lossless(work: Work, ring: int, rate: float) -> bool:
    """Whether the ring never holds more than it can when packets come at this rate.

    A block is taken when its last packet has come and the one before is done, and its packets leave
    the ring when it is done. The processor must not fall behind for good, either.
    """
    arrived = np.arange(1, len(work.took) + 1, dtype=np.float64) * np.float64(work.block / rate)
    finished = finish_times(arrived, work.took)
    left = work.block * np.arange(len(work.took))  # packets that left before each block is done
    waiting = finished * rate - left
    return bool(work.busy(rate) < 1 and waiting.max() <= ring)


def finish_times(arrivals: Floats, costs: Floats) -> Floats:
    """When each is done, one after the other.

    >>> finish_times(np.array([0.0, 1.0, 9.0]), np.array([3.0, 1.0, 1.0])).tolist()
    [3.0, 4.0, 10.0]
    """
    spent = np.cumsum(costs)
    found: Floats = spent + np.maximum.accumulate(arrivals - spent + costs)
    return found
