"""ETS as punctuation against ETS over the arcs of the enhanced query graph.

Five streams: two unions of two, each through a selection, into a third; that through a selection
into a fourth, with a quiet stream; behind it a slide aggregate. Published: both cure idle-waiting,
and punctuation has 14 % more latency, because it must be worked through operators that arcs skip.

On a virtual clock, where a row costs an operator 25 µs and a punctuation a fifth of it: that is the
relation of what our own operators take (the last table measures it). How much slower punctuation is
depends on that relation, as the second table shows: 14 % comes out where it costs a seventeenth of
a row, and 146 % where it costs as much as one.  Spec: execution-model 7, X3.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from statistics import fmean

from _streams import COST, poisson, select, stream, virtual_host

from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.kernel.graph import GraphNode
from penstock.kernel.operators.merge import Merge
from penstock.kernel.scheduling.executor import Step
from penstock.lab.experimenting import Check, Outcome, Plot, Table
from penstock.local.simulation import Report, simulate
from penstock.model.aggregates import Aggregate
from penstock.model.ets import NO_ETS, ON_DEMAND, Ets
from penstock.model.expressions import Ref
from penstock.model.timestamps import SECOND
from penstock.model.types import Type
from penstock.runtime.graph_host import GraphHost
from penstock.windows.sliding import Sliding

ALIAS = "X3"

RATES = {"a": 200.0, "b": 5.0, "c": 100.0, "d": 2.0, "e": 0.1}
WINDOW = Sliding("ts", SECOND, SECOND // 10)
#: Microseconds that a punctuation costs here, and may cost elsewhere; "about 14 %".
PUNCTUATION = COST // 5
COSTS = (0, 1, 2, PUNCTUATION, 10, COST)
ABOUT_14 = (10.0, 18.0)


def nested_unions(host: GraphHost) -> GraphHost:
    """Query `q` is what comes out of the last union; `counts` the aggregate behind it."""
    graph = host.graph

    def union(*nodes: GraphNode) -> GraphNode:
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


def run(quick: bool, seed: int) -> Outcome:
    arrivals = poisson(RATES, 10 if quick else 60, seed)

    def measured(ets: Ets, by_arcs: bool = False) -> Report:
        host = virtual_host(ets, by_arcs=by_arcs, punctuation_cost=PUNCTUATION)
        return simulate(nested_unions(host), arrivals)

    reports = {
        "no ETS": measured(NO_ETS),
        "punctuation": measured(ON_DEMAND),
        "arcs": measured(ON_DEMAND, by_arcs=True),
    }
    latency = {name: float(r.average_latency("q")) / 1000 for name, r in reports.items()}
    more = excess(latency["punctuation"], latency["arcs"])
    by_cost = {cost: excess_at(cost, seed) for cost in COSTS}
    ours = processor_time_of_steps(seed)
    return Outcome(
        tables=(
            Table(
                "rows out of the last union",
                ("ETS", "average latency in ms", "steps", "peak queue"),
                tuple((name, latency[name], r.steps, r.peak_queue) for name, r in reports.items()),
            ),
            Table(
                "by what a punctuation costs, where a row costs 25 µs",
                ("µs", "punctuation has more latency than arcs by %"),
                tuple(by_cost.items()),
            ),
            Table("processor time of our steps", ("what moves", "µs"), tuple(ours.items())),
        ),
        plots=(
            Plot(
                "Latency of punctuation over that of arcs",
                "cost of a punctuation in µs (of a row: 25)",
                "% more",
                {"more": list(by_cost.items())},
            ),
        ),
        checks=(
            Check(
                "both cure idle-waiting",
                latency["no ETS"] > 100 * max(latency["punctuation"], latency["arcs"]),
                ", ".join(f"{name} {x:.3f} ms" for name, x in latency.items()),
            ),
            Check("arcs lie below punctuation", more > 0, f"punctuation has {more:.0f} % more"),
            Check(
                "punctuation has about 14 % more latency",
                ABOUT_14[0] <= more <= ABOUT_14[1],
                f"{more:.0f} % more; {by_cost[1]:.0f} % if a punctuation cost 1 µs, "
                f"{by_cost[2]:.0f} % at 2",
                known="to move a punctuation costs our operators about a fifth of what a row does "
                f"({ours['a punctuation']:.0f} of {ours['a row']:.0f} µs of processor time), most "
                "of it for the turn of control; 14 % is what comes out at a seventeenth",
            ),
        ),
    )


def excess(punctuation: float, arcs: float) -> float:
    return 100 * (punctuation / arcs - 1)


def excess_at(cost: int, seed: int) -> float:
    """By how much punctuation is slower in per cent, if it costs an operator so many ticks."""
    arrivals = poisson(RATES, 3, seed)
    found = [
        float(
            simulate(
                nested_unions(virtual_host(ON_DEMAND, by_arcs=by_arcs, punctuation_cost=cost)),
                arrivals,
            ).average_latency("q")
        )
        for by_arcs in (False, True)
    ]
    return excess(*found)


def processor_time_of_steps(seed: int) -> dict[str, float]:
    """What a step takes our operators with the choice of it, in microseconds on average."""
    host = nested_unions(virtual_host(ON_DEMAND))
    spent: dict[str, list[float]] = defaultdict(list)

    def timed(step: Callable[[], Step | None]) -> Callable[[], Step | None]:
        def run() -> Step | None:
            begun = time.process_time()
            done = step()
            took = 1e6 * (time.process_time() - begun)
            if done is not None:
                spent["a row" if done.rows else "a punctuation"].append(took)
            return done

        return run

    host.executor.step = timed(host.executor.step)  # type: ignore[method-assign]
    simulate(host, poisson(RATES, 3, seed))
    return {what: fmean(spent[what]) for what in ("a row", "a punctuation")}
