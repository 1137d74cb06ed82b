"""Window aggregates run over blocks of rows: the most bytes their state holds, latency and time.

Memory is the most that the operator's tables hold after any block or bound. Latency is measured as
published: from when a bound arrives to when the results that it sets free are out. It and time are
processor times: what was published ran from files at full speed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from penstock.kernel.aggregation.adapt.adapt_wid import AdaptWid
from penstock.kernel.aggregation.adapt.cost import Conditions, Thresholds
from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.kernel.block import Block
from penstock.kernel.operator import Operator, Output
from penstock.model.aggregates import Aggregate
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import END
from penstock.windows import Sliding

#: Rows, or a bound on their timestamp.
Item = pl.DataFrame | int


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    peak_bytes: int
    latency: float  # milliseconds, mean
    seconds: float
    results: pl.DataFrame


class _Next:
    """Hands what one operator puts out to the next."""

    def __init__(self, operator: Operator, out: Output) -> None:
        self._operator, self._out = operator, out

    def batch(self, block: Block) -> None:
        self._operator.on_batch(0, block, self._out)

    def punctuation(self, punctuation: Punctuation) -> None:
        self._operator.on_punctuation(0, punctuation, self._out)


class _Collect:
    def __init__(self) -> None:
        self.found: list[pl.DataFrame] = []

    def batch(self, block: Block) -> None:
        self.found.append(block.rows)

    def punctuation(self, punctuation: Punctuation) -> None:
        pass


def at_once(given: Conditions) -> Thresholds:
    """Every group becomes eager with its first row."""
    return Thresholds(0.0, 0.0)


def never(given: Conditions) -> Thresholds:
    """No group ever becomes eager."""
    return Thresholds(float("inf"), float("inf"))


def eager(group: str, result: Aggregate, window: Sliding) -> WidAggregate:
    return WidAggregate((group,), (("x", result),), window)


def all_eager(group: str, result: Aggregate, window: Sliding) -> WidAggregate:
    """Partials for every group, kept as AdaptWID keeps those of eager ones."""
    return AdaptWid((group,), (("x", result),), window, at_once)


def lazy(group: str, result: Aggregate, window: Sliding) -> WidAggregate:
    return AdaptWid((group,), (("x", result),), window, never)


def adapt(group: str, result: Aggregate, window: Sliding) -> WidAggregate:
    return AdaptWid((group,), (("x", result),), window)


def measure(operator: WidAggregate, window: Sliding, items: Iterable[Item]) -> Cost:
    """Carry all items through Bucket and the operator."""
    bucket, out = Bucket(window), _Collect()
    after = _Next(operator, out)
    peak, seconds, waits = 0, 0.0, []
    for item in [*items, END]:
        before = len(out.found)
        begun = time.process_time()
        if isinstance(item, int):
            bucket.on_punctuation(0, Punctuation(window.on, item), after)
        else:
            bucket.on_batch(0, Block(item), after)
        took = time.process_time() - begun
        seconds += took
        if isinstance(item, int) and len(out.found) > before:
            waits.append(1000 * took)
        peak = max(peak, sum(size.bytes for size in operator.state.sizes()))
    names = out.found[0].columns
    results = pl.concat(out.found).sort(names[0], "window_end")
    return Cost(peak, fmean(waits), seconds, results)
