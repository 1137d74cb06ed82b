"""What the experiments on idle-waiting share: Poisson streams, selections, unions, both clocks.

A row has a column `keep`, true for 95 % of them, which is what selections select by; and `arrival`,
the time it came, by which latency is measured.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

import numpy as np
import polars as pl

from penstock.kernel.graph import GraphNode
from penstock.kernel.operators.meld import Meld
from penstock.kernel.operators.merge import Merge
from penstock.kernel.operators.select import Select
from penstock.kernel.scheduling.strategies import DEPTH_FIRST
from penstock.kernel.scheduling.strategy import Strategy
from penstock.local.simulation import Arrival
from penstock.model.ets import NO_ETS, Ets
from penstock.model.expressions import Ref
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind, Timing
from penstock.model.timestamps import SECOND
from penstock.model.types import Type
from penstock.runtime.clock import RealClock, VirtualClock
from penstock.runtime.graph_host import GraphHost

#: What a row, or a punctuation, costs an operator on the virtual clock, in ticks.
COST = 25
KEPT = 0.95

COLUMNS = (Column("keep", Type.BOOLEAN), Column("arrival", Type.BIGINT))
TIMED = (*COLUMNS, Column("ts", Type.TIMESTAMP))


def stream(name: str, *, latent: bool = False, heartbeat: int | None = None) -> Stream:
    """A stream stamped on entry, or one without time."""
    if latent:
        return Stream(name, COLUMNS)
    timing = Timing(heartbeat=heartbeat)
    return Stream(name, TIMED, TimestampKind.INTERNAL, "ts", timing=timing)


def select(host: GraphHost, node: GraphNode) -> GraphNode:
    return host.graph.add(Select(Ref("keep", Type.BOOLEAN)), [node], cost=COST)


def virtual_host(
    ets: Ets = NO_ETS,
    strategy: Strategy = DEPTH_FIRST,
    *,
    by_arcs: bool = False,
    punctuation_cost: int = COST,
) -> GraphHost:
    host = GraphHost(
        clock=VirtualClock(),
        rows_per_step=1,
        ets=ets,
        punctuation_cost=punctuation_cost,
        ets_by_arcs=by_arcs,
    )
    host.executor.table.set_strategy(strategy)
    return host


def two_streams(
    host: GraphHost, *, latent: bool = False, heartbeat: int | None = None
) -> GraphHost:
    """Streams a and b, a selection on each, and a union; `heartbeat` is the quiet one's."""
    sources = [
        host.add_stream(stream("a", latent=latent)),
        host.add_stream(stream("b", latent=latent, heartbeat=heartbeat)),
    ]
    union = Meld(2) if latent else Merge(2, "ts")
    host.add_query("q", host.graph.add(union, [select(host, s) for s in sources], cost=COST))
    return host


def poisson(rates: Mapping[str, float], seconds: float, seed: int) -> list[Arrival]:
    """Rows of several streams, each at random times."""
    arrivals = []
    for number, (name, rate) in enumerate(rates.items()):
        draw = np.random.default_rng([seed, number])
        count = draw.poisson(rate * seconds)
        times = np.sort(draw.uniform(0, seconds * SECOND, count)).astype(int)
        keeps = draw.random(count) < KEPT
        arrivals += [
            Arrival(int(at), name, pl.DataFrame({"keep": [bool(keep)]}))
            for at, keep in zip(times, keeps, strict=True)
        ]
    return arrivals


@dataclass
class RealRun:
    """A host on the real clock, and how long its rows took, in milliseconds.

    `busy` is processor time of the whole process: on a machine that also does other work, it is
    the part of the latency that is ours.
    """

    host: GraphHost
    latencies: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.host.subscribe("q", self._note)

    def take(self, arrival: Arrival) -> None:
        assert isinstance(arrival.rows, pl.DataFrame)
        self._begun = time.process_time()
        rows = arrival.rows.with_columns(pl.lit(self.host.clock.now(), pl.Int64).alias("arrival"))
        self.host.push(arrival.stream, rows)
        self.host.run()

    def _note(self, rows: pl.DataFrame) -> None:
        self.busy += [1000 * (time.process_time() - self._begun)] * rows.height
        self.latencies.extend((self.host.clock.now() - rows["arrival"]) / 1000)


def run_in_real_time(runs: Sequence[RealRun], arrivals: list[Arrival]) -> None:
    """Give every row to every host when it is due, in turn, so that all see the same machine."""
    clock = RealClock()
    start = clock.now() + SECOND // 10
    for number, arrival in enumerate(sorted(arrivals, key=lambda one: one.time)):
        due = start + arrival.time
        wait = (due - clock.now()) / SECOND - 0.002
        if wait > 0:
            time.sleep(wait)
        while clock.now() < due:  # sleeping is not exact enough
            pass
        for run in runs if number % 2 else reversed(runs):
            run.take(arrival)


def summary(values: list[float]) -> tuple[float, float]:
    """Mean and median."""
    return (fmean(values), median(values)) if values else (float("nan"), float("nan"))
