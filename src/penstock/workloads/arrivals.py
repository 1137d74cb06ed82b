"""When rows come: a Poisson stream, with lulls and bursts if asked for.

A Poisson stream is usually made by adding up random gaps, and then row n is known only after all
before it. Here time is cut into *chunks* that hold the same number of rows each. Given how many
there are, the arrivals of a Poisson stream in a stretch of time are independent and uniform; so a
chunk's arrivals are that many random numbers, sorted, and any chunk can be made by itself. Within a
chunk the stream is Poisson; over many chunks it is more regular than that, which keeps the rate.

    lull    the last part of each period of length `every` is silent; the clock that counts the
            chunks stands still meanwhile
    burst   rows come in groups of that many at the same moment; the average rate stays

Spec: window-queries 1.4 (lulls); execution-model, experiment X2 (bursts); timestamps, experiments.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from penstock.errors import BadSetting
from penstock.model.timestamps import MINUTE, SECOND, format_duration, to_ticks
from penstock.workloads.draws import Draws, Integers
from penstock.workloads.options import WorkloadOptions, check_length, check_range

START = to_ticks(datetime(2026, 1, 1))
CHUNK = 8192


@dataclass(frozen=True)
class ArrivalPattern:
    """A stream's arrivals. `rate` is rows per second outside of lulls; lengths are in ticks."""

    rate: float = 1000.0
    start: int = START
    lull: int = 0
    every: int = MINUTE
    burst: int = 1
    chunk: int = CHUNK  # groups of rows that are drawn together

    def __post_init__(self) -> None:
        check_range("rate", self.rate, 0.01, 10_000_000)
        check_range("burst", self.burst, 1, 1000)
        check_range("chunk", self.chunk, 1000, 1_000_000)
        check_length("a chunk", self._chunk_length)
        check_length("lull", self.lull)
        check_length("every", self.every)
        if self.lull >= self.every:
            raise BadSetting(
                f"a lull of {format_duration(self.lull)} every {format_duration(self.every)} "
                "leaves no time for rows",
                hint="make `lull` shorter than `every`",
            )

    @classmethod
    def from_options(cls, options: WorkloadOptions, rate: float) -> ArrivalPattern:
        """As the options say; `rate` is the workload's own."""
        arrivals = cls(
            rate=options.number("rate", rate),
            start=options.moment("start", START),
            lull=options.length("lull", 0),
            every=options.length("every", MINUTE),
            burst=options.whole("burst", 1),
        )
        if options.gives("every") and not options.gives("lull"):
            raise BadSetting(
                f"workload `{options.workload}`: `every` says how often a lull comes, "
                "and there is none",
                hint="add its length, such as lull '10 seconds'",
            )
        return arrivals

    def times(self, draws: Draws, first: int, count: int) -> Integers:
        """The ticks at which rows first … first + count - 1 come; they never fall."""
        first_group = first // self.burst
        groups = -(-(first + count) // self.burst) - first_group
        busy = self._busy_times(draws, first_group, groups)
        period, within = np.divmod(busy, self.every - self.lull)
        times = self.start + period * self.every + within
        if self.burst == 1:
            return times
        return np.repeat(times, self.burst)[first % self.burst :][:count]

    def before(self, draws: Draws, tick: int) -> int:
        """How many rows come before the tick."""
        period, within = divmod(max(0, tick - self.start), self.every)
        talking = self.every - self.lull
        chunk, rest = divmod(period * talking + min(within, talking), self._chunk_length)
        partly = self._busy_times(draws, chunk * self.chunk, self.chunk)
        groups = chunk * self.chunk + np.searchsorted(partly, chunk * self._chunk_length + rest)
        return int(groups) * self.burst

    @property
    def _chunk_length(self) -> int:
        """How long a chunk lasts. Whole ticks, so that no rounding can put a row out of order."""
        return round(self.chunk * self.burst * SECOND / self.rate)

    def _busy_times(self, draws: Draws, first: int, count: int) -> Integers:
        """When groups of rows come, on a clock that starts at 0 and stands still in lulls."""
        length = self._chunk_length
        start, stop = first // self.chunk, -(-(first + count) // self.chunk)
        size = (stop - start) * self.chunk
        within = draws.below(length, "arrival", start * self.chunk, size)
        within = within.reshape(stop - start, self.chunk)
        within.sort(axis=1)
        within += np.arange(start, stop, dtype=np.int64)[:, None] * length
        return within.reshape(-1)[first - start * self.chunk :][:count]
