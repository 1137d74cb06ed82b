"""Burstiness of a union with the results of a slide aggregate, against SLIDE, without and with ETS.

Stream a is aggregated over a sliding window; its results and the rows of stream b go into a union.
A slide aggregate is silent for a SLIDE, and if only rows tell the time, the union holds b back for
as long and lets it out in one burst. Burstiness is (max - min) / mean of the rows put out in each
0.02 s. Published: it grows with the slide without ETS and is flat with it.

*Without* is without promises of any kind behind the aggregate, as in systems whose registers are
set by rows alone: our aggregates also promise when their next result is due, and that by itself
keeps the union going while a is busy.  Spec: execution-model 7, X4.
"""

from __future__ import annotations

import numpy as np
from _streams import COST, poisson, select, stream, virtual_host

from penstock.experimenting import Check, Outcome, Plot, Table
from penstock.kernel.aggregation.bucket import Bucket
from penstock.kernel.aggregation.wid import WidAggregate
from penstock.kernel.operators.merge import Merge
from penstock.kernel.operators.project import Project
from penstock.kernel.operators.select import Select
from penstock.local.host import LocalHost
from penstock.local.simulation import simulate
from penstock.model.aggregates import Aggregate
from penstock.model.ets import NO_ETS, ON_DEMAND
from penstock.model.expressions import Literal, Named, Ref
from penstock.model.punctuation import Punctuation
from penstock.model.schema import WINDOW_END
from penstock.model.timestamps import MILLISECOND, SECOND
from penstock.model.types import Type
from penstock.windows.sliding import Sliding

RATES = {"a": 200.0, "b": 1000.0}
SLIDES = (50, 100, 200, 500, 1000)  # milliseconds
BIN = 20 * MILLISECOND


class Mute(Select):
    """Passes every row and no promise."""

    def translate(self, punctuation: Punctuation) -> tuple[Punctuation, ...]:
        return ()


def build(host: LocalHost, slide: int, muted: bool) -> LocalHost:
    graph = host.graph
    window = Sliding("ts", SECOND, slide)
    a, b = (select(host, host.add_stream(stream(name))) for name in RATES)
    counts = graph.add(
        WidAggregate([], [("arrival", Aggregate("max", Ref("arrival", Type.BIGINT)))], window),
        [graph.add(Bucket(window), [a], cost=COST)],
        cost=COST,
    )
    if muted:
        counts = graph.add(Mute(Literal(True, Type.BOOLEAN)), [counts])
    arrival = Named("arrival", Ref("arrival", Type.BIGINT))
    parts = [
        graph.add(Project([arrival, Named("at", Ref(on, Type.TIMESTAMP))]), [node], cost=COST)
        for node, on in ((counts, WINDOW_END), (b, "ts"))
    ]
    host.add_query("q", graph.add(Merge(2, "at"), parts, cost=COST))
    return host


def burstiness(slide: int, with_ets: bool, seconds: int) -> float:
    host = build(virtual_host(ON_DEMAND if with_ets else NO_ETS), slide, muted=not with_ets)
    times: list[int] = []
    host.subscribe("q", lambda rows: times.extend([host.clock.now()] * rows.height))
    simulate(host, poisson(RATES, seconds))
    bins = np.arange(2 * SECOND, (seconds - 1) * SECOND, BIN)  # without the beginning and the end
    counts, _ = np.histogram(times, bins)
    return float((counts.max() - counts.min()) / counts.mean())


def run(quick: bool) -> Outcome:
    seconds = 6 if quick else 20
    found = {
        name: {slide: burstiness(slide * MILLISECOND, ets, seconds) for slide in SLIDES}
        for name, ets in (("without", False), ("with", True))
    }
    without, with_ = found["without"], found["with"]
    first, last = SLIDES[0], SLIDES[-1]
    return Outcome(
        tables=(
            Table(
                "(max - min) / mean of rows per 0.02 s",
                ("SLIDE in ms", "without ETS", "with ETS"),
                tuple((slide, without[slide], with_[slide]) for slide in SLIDES),
            ),
        ),
        plots=(
            Plot(
                "Burstiness",
                "SLIDE in ms",
                "(max - min) / mean",
                {f"{name} ETS": list(values.items()) for name, values in found.items()},
                log_x=True,
            ),
        ),
        checks=(
            Check(
                "it grows with the slide without ETS",
                without[last] > 5 * without[first],
                f"from {without[first]:.1f} to {without[last]:.1f}",
            ),
            Check(
                "it is flat with ETS",
                max(with_.values()) < 1.5 * min(with_.values()),
                f"between {min(with_.values()):.2f} and {max(with_.values()):.2f}",
            ),
        ),
    )
