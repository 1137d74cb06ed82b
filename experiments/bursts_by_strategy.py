"""Depth first against breadth first on bursts: average latency against the size of a burst.

Two streams, each through a selection, then a union; latent timestamps, so nothing waits for
anything but the processor. A burst of n rows comes at once, while the average rate stays the same.
Published: breadth first rises faster. With a cost of c per row and operator, depth first takes
(n + 1)c on average and breadth first (1.5n + 0.5)c, as long as bursts do not meet.

On a virtual clock, so the numbers are exact: `alone` is a single burst, `Poisson` many of them at
random times, a few of which meet.  Spec: execution-model 7, X2.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl

from penstock.kernel.operators.meld import Meld
from penstock.kernel.operators.select import Select
from penstock.kernel.scheduling.strategies import BREADTH_FIRST, DEPTH_FIRST
from penstock.kernel.scheduling.strategy import Strategy
from penstock.lab.experimenting import Check, Outcome, Plot, Table
from penstock.local.simulation import Arrival, simulate
from penstock.model.expressions import Literal
from penstock.model.schema import Column
from penstock.model.streams import Stream
from penstock.model.types import Type
from penstock.runtime.clock import VirtualClock
from penstock.runtime.graph_host import GraphHost

ALIAS = "X2"

COST = 100  # ticks per row and operator
RATE = 100.0  # rows per second, over both streams
SIZES = (1, 2, 5, 10, 20, 50)
STRATEGIES = {"DFS": DEPTH_FIRST, "BFS": BREADTH_FIRST}
COLUMNS = (Column("x", Type.INT), Column("arrival", Type.BIGINT))


def run(quick: bool, seed: int) -> Outcome:
    bursts = 40 if quick else 400
    alone = {
        name: {n: average(strategy, [burst(0, "a", n)]) for n in SIZES}
        for name, strategy in STRATEGIES.items()
    }
    poisson = {
        name: {n: average(strategy, random_bursts(n, bursts, seed)) for n in SIZES}
        for name, strategy in STRATEGIES.items()
    }
    rows = tuple(
        (n, *(float(kind[name][n]) for name in STRATEGIES for kind in (alone, poisson)))
        for n in SIZES
    )
    return Outcome(
        tables=(
            Table(
                "average latency in units of c",
                ("n", "DFS alone", "DFS Poisson", "BFS alone", "BFS Poisson"),
                rows,
            ),
        ),
        plots=(
            Plot(
                "Latency of bursts",
                "rows in a burst",
                "average latency / c",
                {
                    f"{name}, {kind}": [(n, float(values[name][n])) for n in SIZES]
                    for kind, values in (("alone", alone), ("Poisson", poisson))
                    for name in STRATEGIES
                },
            ),
        ),
        checks=(
            Check(
                "depth first takes (n + 1)c",
                all(alone["DFS"][n] == n + 1 for n in SIZES),
                ", ".join(f"n = {n}: {alone['DFS'][n]}" for n in SIZES),
            ),
            Check(
                "breadth first takes (1.5n + 0.5)c",
                all(alone["BFS"][n] == Fraction(3 * n + 1, 2) for n in SIZES),
                ", ".join(f"n = {n}: {alone['BFS'][n]}" for n in SIZES),
            ),
            Check(
                "breadth first rises faster, with bursts at random times too",
                slope(poisson["BFS"]) > 1.2 * slope(poisson["DFS"]),
                f"{slope(poisson['BFS']):.2f}c against {slope(poisson['DFS']):.2f}c a row",
            ),
        ),
    )


def average(strategy: Strategy, arrivals: list[Arrival]) -> Fraction:
    """The average latency in units of what one operator costs."""
    host = GraphHost(clock=VirtualClock(), rows_per_step=1)
    selections = [
        host.graph.add(
            Select(Literal(True, Type.BOOLEAN)), [host.add_stream(Stream(name, COLUMNS))], cost=COST
        )
        for name in ("a", "b")
    ]
    host.add_query("q", host.graph.add(Meld(2), selections, cost=COST))
    host.executor.table.set_strategy(strategy)
    return simulate(host, arrivals).average_latency("q") / COST


def burst(time: int, stream: str, size: int) -> Arrival:
    return Arrival(time, stream, pl.DataFrame({"x": range(size)}, schema={"x": pl.Int32}))


def random_bursts(size: int, count: int, seed: int) -> list[Arrival]:
    """Bursts at random times, at the same number of rows a second whatever their size."""
    draw = np.random.default_rng([seed, size])
    times = np.cumsum(draw.exponential(size / RATE * 1e6, count)).astype(int)
    streams = draw.integers(0, 2, count)
    return [burst(int(t), "ab"[s], size) for t, s in zip(times, streams, strict=True)]


def slope(latencies: dict[int, Fraction]) -> float:
    """What one more row in a burst costs each of its rows."""
    return float((latencies[SIZES[-1]] - latencies[SIZES[0]]) / (SIZES[-1] - SIZES[0]))
