"""Depth first and breadth first, without and with on-demand ETS: average latency of a union.

Two streams, each through a selection, then a union; Poisson arrivals at 1000/s and 0.5/s, internal
timestamps, a virtual clock. Published: the two strategies are alike without ETS; with it latency
falls by orders of magnitude under both.  Spec: execution-model 7, X1.
"""

from __future__ import annotations

from _streams import poisson, two_streams, virtual_host

from penstock.kernel.scheduling.strategies import BREADTH_FIRST, DEPTH_FIRST
from penstock.lab.experimenting import Check, Outcome, Table
from penstock.local.simulation import simulate
from penstock.model.ets import NO_ETS, ON_DEMAND

ALIAS = "X1"

STRATEGIES = {"DFS": DEPTH_FIRST, "BFS": BREADTH_FIRST}


def run(quick: bool, seed: int) -> Outcome:
    arrivals = poisson({"a": 1000.0, "b": 0.5}, 8 if quick else 30, seed)
    latency = {
        (name, str(ets)): float(
            simulate(two_streams(virtual_host(ets, strategy)), arrivals).average_latency("q")
        )
        / 1000
        for name, strategy in STRATEGIES.items()
        for ets in (NO_ETS, ON_DEMAND)
    }
    without = [latency[name, "none"] for name in STRATEGIES]
    gains = {name: latency[name, "none"] / latency[name, "on demand"] for name in STRATEGIES}
    return Outcome(
        tables=(
            Table(
                "average latency in ms",
                ("strategy", "no ETS", "on demand", "times less"),
                tuple(
                    (name, latency[name, "none"], latency[name, "on demand"], gains[name])
                    for name in STRATEGIES
                ),
            ),
        ),
        checks=(
            Check(
                "without ETS the strategies are alike",
                max(without) < 1.1 * min(without),
                " and ".join(f"{x:.1f} ms" for x in without),
            ),
            Check(
                "with ETS latency falls by orders of magnitude",
                min(gains.values()) > 1000,
                ", ".join(f"{name} {gain:.0f} times" for name, gain in gains.items()),
            ),
        ),
    )
