"""The chooser: `aggregation = auto` against the better of WID and panes.

A function of a value by key over RANGE 60 s, 20,000 rows a second, a block a second; a window has
2 to 600 panes, and rows have 1 to 10,000 keys. Every case goes through an engine in this process
with `wid`, `paned` and `auto`, which is told how many rows and groups come, as a query that runs
would see them, and chooses by the costs of this machine, measured anew and not stored. Times are of
the processor, the best of three to seven runs (the column `rounds`), so that what else the machine
does decides as little as can be; the first, cold run counts only if no later one is faster.

    case                    compares
    PANES-FUNCTION-GROUPS   auto with the better of the two; all three answers are compared
    share-right             the ratio is the share of these cases in which auto takes at most 1.15
                            times as long as the better one
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl

from penstock.lab.benchmarking import Case, Timed, difference
from penstock.local.engine import LocalEngine
from penstock.optimizer.cost.aggregation import Load
from penstock.optimizer.cost.costs import Costs
from penstock.optimizer.statistics import Statistics
from penstock.runtime.calibrate import calibrated
from penstock.windows import Sliding

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

PANES = (2, 5, 10, 20, 60, 600)
FUNCTIONS = ("count", "sum", "avg", "max", "stddev")
GROUPS = (1, 100, 10_000)

IO = "a table in memory, in blocks → a table in memory"
RANGE, RATE = 60, 20_000
#: Every case is run at least so often, at most so often, and until it has taken so many seconds.
LEAST, ROUNDS, ENOUGH = 3, 7, 4.0
#: How much slower than the better one is still right.
RIGHT = 1.15


def cases(quick: bool) -> Iterator[Case]:
    units = calibrated()
    costs = Costs(units, "measured on this machine")
    ratios: list[float] = []
    seconds = RANGE * 3 // 2
    panes = PANES[1::3] if quick else PANES
    for groups in GROUPS:
        rows = stream(seconds * RATE, groups)
        for count, function in product(panes, FUNCTIONS):
            compared = Compared(rows, groups, count, function, costs)
            yield Case(
                name=f"{count}-{function}-{groups}",
                ours=compared.auto,
                rival=compared.better,
                rival_name="the better of wid and paned",
                repeats=1,
                warm_up=0,
                ours_io=IO,
                rival_io=IO,
                ratio=lambda ours, rival: _noted(ratios, rival / ours),
                extra=compared.extra,
            )
    right = sum(ratio >= 1 / RIGHT for ratio in ratios)
    yield Case(
        name="share-right",
        ours=lambda: Timed(None, len(ratios)),
        rival=lambda: Timed(None, right),
        rival_name="cases in which auto is right",
        repeats=1,
        warm_up=0,
        extra={"right": right, "cases": len(ratios), "within": RIGHT},
    )


def _noted(ratios: list[float], ratio: float) -> float:
    ratios.append(ratio)
    return ratio


def stream(rows: int, groups: int) -> pl.DataFrame:
    draw = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "k": draw.integers(0, groups, rows),
            "v": draw.integers(0, 1000, rows),
            "ts": (np.arange(rows) * 1_000_000 // RATE).astype("datetime64[us]"),
        }
    )


class Compared:
    """One case: a stream, and a window over it."""

    def __init__(
        self, rows: pl.DataFrame, groups: int, panes: int, function: str, costs: Costs
    ) -> None:
        self._rows = rows
        self._window = f"[RANGE {RANGE} SECONDS, SLIDE {RANGE * 1000 // panes} MILLISECONDS]"
        self._call = "count(*)" if function == "count" else f"{function}(v)"
        window = Sliding("ts", RANGE * 1_000_000, RANGE * 1_000_000 // panes)
        load = Load(RATE * RANGE / panes, RATE, groups, seen=True)
        self._statistics = Statistics(costs, {(window, ("k",)): load})
        self.extra: dict[str, object] = {}
        self._best: dict[str, Run] = {}

    def auto(self) -> Timed:
        """Our answer, by the algorithm that is chosen."""
        found = self._measured()["auto"]
        self.extra["chosen"] = found.chosen
        return found.timed

    def better(self) -> Timed:
        """The answer of the faster one of both."""
        wid, paned = (self._measured()[name].timed for name in ("wid", "paned"))
        self.extra |= {"wid_s": wid.seconds, "paned_s": paned.seconds}
        self._best.clear()  # answers of millions of rows
        found = difference(wid.answer, paned.answer)
        if found is not None:
            return Timed(f"wid and paned differ: {found}", wid.seconds)
        return min(wid, paned, key=lambda timed: timed.seconds)

    def _measured(self) -> dict[str, Run]:
        """The best run of each, all in turn, so that a machine that slows down slows all."""
        if not self._best:
            spent, rounds = 0.0, 0
            while rounds < LEAST or (rounds < ROUNDS and spent < ENOUGH):
                for name in ("auto", "wid", "paned"):
                    run = self._once(name)
                    spent += run.timed.seconds
                    best = self._best.setdefault(name, run)
                    if run.timed.seconds < best.timed.seconds:
                        self._best[name] = run
                rounds += 1
            self.extra["rounds"] = rounds
        return self._best

    def _once(self, aggregation: str) -> Run:
        engine = LocalEngine(max_results=1 << 40)
        engine._statistics = self._statistics
        engine.sql(
            f"SET aggregation = {aggregation};"
            "CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP) TIMESTAMP BY ts ORDERED"
        )
        query = engine.sql(f"SELECT k, {self._call} AS x FROM s {self._window} GROUP BY k")
        begun = time.process_time()
        for block in self._rows.iter_slices(RATE):
            engine.push("s", block)
        engine.finish()
        seconds = time.process_time() - begun
        names = [plan.spec.name for plan in engine._plans[query.name].walk()]
        return Run(Timed(query.results(), seconds), "paned" if "PanedWid" in names else "wid")


@dataclass(frozen=True)
class Run:
    """An answer with its time, and the algorithm that gave it."""

    timed: Timed
    chosen: str
