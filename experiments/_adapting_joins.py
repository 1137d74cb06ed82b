"""Three streams whose selectivities swap while they are joined, second by second, on our engine.

A predicate holds for a share of all pairs and is not an equality, so operators compare every pair
in the window, as nested loops do; the rows of B carry both shares. The query begins as it is
written, (A ⋈ B) ⋈ C: the *lower* join is of A and B, the *upper* one with C.
Spec: dynamic-optimization 5.2.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from _times import with_times

from penstock.lab.experimenting import Plot
from penstock.local.engine import LocalEngine
from penstock.model.timestamps import SECOND
from penstock.runtime.clock import VirtualClock
from penstock.runtime.migrations import Migration

WINDOW = 5  # seconds
NAMES = "abc"
_QUERY = f"""CREATE QUERY q AS SELECT a.n AS n
    FROM a [RANGE {WINDOW} SECONDS], b [RANGE {WINDOW} SECONDS], c [RANGE {WINDOW} SECONDS]
    WHERE (a.n + b.p) % 1000 < b.lower AND (b.n + c.p) % 1000 < b.upper"""

Shares = Callable[[int], tuple[float, float]]
"""By second, the selectivities of the lower and the upper join."""


def swapping(one: tuple[float, float], swaps: Sequence[int]) -> Shares:
    """Selectivities that swap at some seconds."""

    def shares(second: int) -> tuple[float, float]:
        is_swapped = sum(second >= each for each in swaps) % 2 == 1
        return one[::-1] if is_swapped else one

    return shares


@dataclass
class AdaptingRun:
    """By second: processor time, stored rows at its end, and results."""

    engine: LocalEngine
    busy: list[float] = field(default_factory=list)
    stored: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)

    @property
    def changes(self) -> tuple[Migration, ...]:
        return self.engine.status().migrations

    def throughput(self, begin: int, end: int) -> float:
        """Results for each second of processor time, of the stretch between two seconds."""
        return sum(self.results[begin:end]) / sum(self.busy[begin:end])

    def memory(self, begin: int, end: int) -> float:
        """Rows stored in that stretch, on average."""
        return sum(self.stored[begin:end]) / (end - begin)


def begun(settings: str) -> AdaptingRun:
    """A query that runs under some settings."""
    engine = LocalEngine(clock=VirtualClock())
    for name in NAMES:
        shares = ", lower BIGINT, upper BIGINT" if name == "b" else ""
        columns = f"p BIGINT, n BIGINT{shares}, ts TIMESTAMP"
        engine.sql(f"CREATE STREAM {name} ({columns}) TIMESTAMP BY ts ORDERED")
    engine.sql(f"{settings}; {_QUERY}")
    return AdaptingRun(engine)


def run(runs: Sequence[AdaptingRun], rate: float, shares: Shares, seconds: int, seed: int) -> None:
    """The same rows to several queries, a second to one after the other: so all are timed alike."""
    for second, blocks in enumerate(_rows(rate, shares, seconds, seed)):
        for each in runs if second % 2 else runs[::-1]:
            start = time.process_time()
            for name, rows in blocks.items():
                each.engine.push(name, with_times(rows))
            results = each.engine.query("q").fetch().height
            each.busy.append(time.process_time() - start)
            each.results.append(results)
            each.stored.append(sum(rows for _, _, rows, _ in each.engine.state()))


def rows_stored(runs: Mapping[str, AdaptingRun]) -> Plot:
    """What runs have stored at the end of each second, by their names."""
    stored = {name: [*enumerate(each.stored)] for name, each in runs.items()}
    return Plot("Rows stored", "s", "rows", stored)


def _rows(
    rate: float, shares: Shares, seconds: int, seed: int
) -> Iterator[dict[str, pl.DataFrame]]:
    draw = np.random.default_rng(seed)
    for second in range(seconds):
        lower, upper = (round(1000 * share) for share in shares(second))
        found = {}
        for name in NAMES:
            count = draw.poisson(rate)
            times = np.sort(draw.integers(0, SECOND, count)) + second * SECOND
            columns = {key: draw.integers(0, 1_000_000, count) for key in "pn"}
            if name == "b":
                columns |= {"lower": np.full(count, lower), "upper": np.full(count, upper)}
            found[name] = pl.DataFrame({**columns, "ts": times})
        yield found
