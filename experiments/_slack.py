"""Windows over a stream in disorder: when they close, and what is wrong with them then.

A window closes when a bound passes its end. With slack the bound is the newest time seen less the
slack; punctuation that is put in beforehand knows what comes. The stream is cut exactly where a
bound closes windows, so answers are those of a row at a time.

    delay     from the end of a window to its result, in the stream's own time
    latency   how long of that the result waits although all rows of its window are there; 0 for
              one that comes before them
    error     |true - reported| / true, mean over windows; a result that is missing counts as 1
    wrong     share of windows whose result is not the true one
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import polars as pl

from penstock.kernel.aggregation.baselines.buffering import Buffering
from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.kernel.block import Block
from penstock.model.aggregates import Aggregate
from penstock.model.punctuation import Punctuation
from penstock.model.schema import WINDOW_END
from penstock.model.timestamps import END, SECOND
from penstock.windows import Sliding

Times = np.ndarray[tuple[int], np.dtype[np.int64]]
Build = Callable[[Aggregate, Sliding], WidAggregate]


@dataclass(frozen=True)
class Quality:
    """How good the results of one run are, and how soon they come."""

    delay: float  # seconds of the stream, mean
    latency: float
    error: float
    wrong: float
    closing: float  # milliseconds of ours that a bound takes, mean


@dataclass(frozen=True)
class Arrived:
    """A stream in the order of arrival: `ts` is each row's own time, `arrival` when it came."""

    rows: pl.DataFrame
    arrival: Times

    @property
    def ts(self) -> Times:
        return self.rows.get_column("ts").to_numpy()


def by_slack(stream: Arrived, slack: int) -> Times:
    """The bound behind each row: the newest time so far less the slack."""
    return np.maximum.accumulate(stream.ts) - slack


def by_knowledge(stream: Arrived) -> Times:
    """The least time that is still to come behind each row."""
    after = np.append(stream.ts[1:], END)
    return np.minimum.accumulate(after[::-1])[::-1]


def buffering(late: str) -> Build:
    """Buffering that treats rows that are later than the slack in this way."""

    def build(result: Aggregate, window: Sliding) -> WidAggregate:
        return Buffering((), (("x", result),), window, consistent=late == "consistent")

    return build


def wid(result: Aggregate, window: Sliding) -> WidAggregate:
    return WidAggregate((), (("x", result),), window)


class _Collect:
    def __init__(self) -> None:
        self.blocks: list[pl.DataFrame] = []
        self.now = 0

    def batch(self, block: Block) -> None:
        self.blocks.append(block.rows.with_columns(pl.lit(self.now, pl.Int64).alias("out")))

    def punctuation(self, punctuation: Punctuation) -> None:
        pass


def judge(
    build: Build, result: Aggregate, window: Sliding, stream: Arrived, bounds: Times
) -> Quality:
    """Run it, and compare with the truth. Windows that the stream does not fill are left out."""
    operator, bucket, out = build(result, window), Bucket(window), _Collect()
    tagged = _Tagged()
    waits = []
    for stop, bound, block in _cut(stream, bounds, window):
        bucket.on_batch(0, Block(block), tagged)
        operator.on_batch(0, tagged.block, out)
        out.now = int(stream.arrival[stop])
        begun = time.perf_counter()
        bucket.on_punctuation(0, Punctuation("ts", bound), _Hand(operator, out))
        waits.append(1000 * (time.perf_counter() - begun))
    found = {
        row[WINDOW_END]: (row["x"], row["out"]) for rows in out.blocks for row in rows.to_dicts()
    }
    delays, latencies, errors = [], [], []
    for end, (value, complete) in _truth(stream, window, result).items():
        reported, at = found.get(end, (None, complete))
        errors.append(1.0 if reported is None else abs(value - reported) / abs(value))
        delays.append((at - end) / SECOND)
        latencies.append(max(at - complete, 0) / SECOND)
    wrong = fmean(error > 1e-9 for error in errors)
    return Quality(fmean(delays), fmean(latencies), fmean(errors), wrong, fmean(waits))


class _Tagged:
    block: Block

    def batch(self, block: Block) -> None:
        self.block = block

    def punctuation(self, punctuation: Punctuation) -> None:
        pass


class _Hand:
    def __init__(self, operator: WidAggregate, out: _Collect) -> None:
        self._operator, self._out = operator, out

    def batch(self, block: Block) -> None:
        self._operator.on_batch(0, block, self._out)

    def punctuation(self, punctuation: Punctuation) -> None:
        self._operator.on_punctuation(0, punctuation, self._out)


def _cut(
    stream: Arrived, bounds: Times, window: Sliding
) -> Iterator[tuple[int, int, pl.DataFrame]]:
    """Blocks that each end with the row behind which windows close, and the bound that does it."""
    closed = bounds // window.slide
    stops = [*(np.flatnonzero(np.diff(closed) > 0) + 1).tolist(), len(bounds) - 1]
    start = 0
    for stop in dict.fromkeys(stops):
        yield stop, int(bounds[stop]), stream.rows.slice(start, stop + 1 - start)
        start = stop + 1


def _truth(stream: Arrived, window: Sliding, result: Aggregate) -> dict[int, tuple[float, int]]:
    """End of each window that lies within the stream -> its true value, and when it is complete."""
    ts = stream.ts
    first = -(-int(ts.min()) // window.slide) * window.slide + window.range
    values = stream.rows.get_column("v").to_numpy()
    found = {}
    # Leave out those at the end, which no later row closes.
    for end in range(first, int(ts.max()) - 2 * window.range, window.slide):
        inside = (ts >= end - window.range) & (ts < end)
        value = values[inside].mean() if result.function == "avg" else inside.sum()
        found[end] = (float(value), int(stream.arrival[inside].max()))
    return found
