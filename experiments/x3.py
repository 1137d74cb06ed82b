"""ETS as punctuation against ETS over the arcs of the enhanced query graph.

Five streams: two unions of two, each through a selection, into a third; that through a selection
into a fourth, with a quiet stream; behind it a slide aggregate. Virtual clock, every row and every
punctuation costs an operator 25 µs. Published: both cure idle-waiting, and punctuation has 14 %
more latency, because it must be worked through operators that arcs skip.
Spec: execution-model 7, X3.
"""

from __future__ import annotations

from _streams import COST, poisson, select, stream, virtual_host

from penstock.experimenting import Check, Outcome, Table
from penstock.kernel.aggregation.bucket import Bucket
from penstock.kernel.aggregation.wid import WidAggregate
from penstock.kernel.graph import Node
from penstock.kernel.operators.merge import Merge
from penstock.local.host import LocalHost
from penstock.local.simulation import Report, simulate
from penstock.model.aggregates import Aggregate
from penstock.model.ets import NO_ETS, ON_DEMAND, Ets
from penstock.model.expressions import Ref
from penstock.model.timestamps import SECOND
from penstock.model.types import Type
from penstock.windows.sliding import Sliding

RATES = {"a": 200.0, "b": 5.0, "c": 100.0, "d": 2.0, "e": 0.1}
WINDOW = Sliding("ts", SECOND, SECOND // 10)


def nested_unions(host: LocalHost) -> LocalHost:
    """Query `q` is what comes out of the last union; `counts` the aggregate behind it."""
    graph = host.graph

    def union(*nodes: Node) -> Node:
        return graph.add(Merge(2, "ts"), nodes, cost=COST)

    a, b, c, d, e = (select(host, host.add_stream(stream(name))) for name in RATES)
    pairs = union(select(host, union(a, b)), select(host, union(c, d)))
    last = union(select(host, pairs), e)
    host.add_query("q", last)
    bucket = graph.add(Bucket(WINDOW), [last], cost=COST)
    newest = Aggregate("max", Ref("arrival", Type.BIGINT))
    counts = WidAggregate([], [("n", Aggregate("count", None)), ("arrival", newest)], WINDOW)
    host.add_query("counts", graph.add(counts, [bucket], cost=COST))
    return host


def run(quick: bool) -> Outcome:
    arrivals = poisson(RATES, 10 if quick else 60)

    def measured(ets: Ets, by_arcs: bool = False) -> Report:
        return simulate(nested_unions(virtual_host(ets, by_arcs=by_arcs)), arrivals)

    reports = {
        "no ETS": measured(NO_ETS),
        "punctuation": measured(ON_DEMAND),
        "arcs": measured(ON_DEMAND, by_arcs=True),
    }
    latency = {name: float(r.average_latency("q")) / 1000 for name, r in reports.items()}
    more = 100 * (latency["punctuation"] / latency["arcs"] - 1)
    return Outcome(
        tables=(
            Table(
                "rows out of the last union",
                ("ETS", "average latency in ms", "steps", "peak queue"),
                tuple((name, latency[name], r.steps, r.peak_queue) for name, r in reports.items()),
            ),
        ),
        checks=(
            Check(
                "both cure idle-waiting",
                latency["no ETS"] > 100 * max(latency["punctuation"], latency["arcs"]),
                ", ".join(f"{name} {x:.3f} ms" for name, x in latency.items()),
            ),
            Check("arcs lie below punctuation", more > 5, f"punctuation has {more:.0f} % more"),
        ),
    )
