"""Burstiness of a union with the results of a slide aggregate, against SLIDE, without and with ETS.

Stream a is aggregated over a sliding window; its results and the rows of stream b go into a union.
A slide aggregate is silent for a SLIDE, and if only rows tell the time, the union holds b back for
as long and lets it out in one burst. Burstiness is (max - min) / mean of the rows put out in each
0.02 s. Published: it grows with the slide without ETS and is flat with it.

Our aggregates also punctuate when their next result is due, which by itself keeps the union going
while a is busy: without ETS it is then as flat as with them. The line *rows only* has this
punctuation taken away, as in a system whose registers are set by rows alone: there it grows as
published.  Spec: execution-model 7, X4.
"""

from __future__ import annotations

import numpy as np
from _streams import COST, poisson, select, stream, virtual_host

from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.kernel.operators.merge import Merge
from penstock.kernel.operators.project import Project
from penstock.kernel.operators.select import Select
from penstock.lab.experimenting import Check, Outcome, Plot, Table
from penstock.local.simulation import simulate
from penstock.model.aggregates import Aggregate
from penstock.model.ets import NO_ETS, ON_DEMAND, Ets
from penstock.model.expressions import Literal, Named, Ref
from penstock.model.punctuation import Punctuation
from penstock.model.schema import WINDOW_END
from penstock.model.timestamps import MILLISECOND, SECOND
from penstock.model.types import Type
from penstock.runtime.graph_host import GraphHost
from penstock.windows.sliding import Sliding

ALIAS = "X4"

RATES = {"a": 200.0, "b": 1000.0}
SLIDES = (50, 100, 200, 500, 1000)  # milliseconds
#: How registers are set: by enabling timestamps or not, and with an aggregate's bounds or not.
LINES = {"without": (NO_ETS, False), "rows only": (NO_ETS, True), "with": (ON_DEMAND, False)}
BIN = 20 * MILLISECOND


class Mute(Select):
    """Passes every row and no punctuation."""

    def translate(self, punctuation: Punctuation) -> tuple[Punctuation, ...]:
        return ()


def build(host: GraphHost, slide: int, muted: bool) -> GraphHost:
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


def burstiness(slide: int, ets: Ets, muted: bool, seconds: int, seed: int) -> float:
    host = build(virtual_host(ets), slide, muted)
    times: list[int] = []
    host.subscribe("q", lambda rows: times.extend([host.clock.now()] * rows.height))
    simulate(host, poisson(RATES, seconds, seed))
    bins = np.arange(2 * SECOND, (seconds - 1) * SECOND, BIN)  # without the beginning and the end
    counts, _ = np.histogram(times, bins)
    return float((counts.max() - counts.min()) / counts.mean())


def run(quick: bool, seed: int) -> Outcome:
    seconds = 6 if quick else 20
    slides = SLIDES[::4] if quick else SLIDES
    found = {
        name: {slide: burstiness(slide * MILLISECOND, *how, seconds, seed) for slide in slides}
        for name, how in LINES.items()
    }
    without, rows_only, with_ = (found[name] for name in LINES)
    first, last = slides[0], slides[-1]
    return Outcome(
        tables=(
            Table(
                "(max - min) / mean of rows per 0.02 s",
                ("SLIDE in ms", "without ETS", "without ETS, rows only", "with ETS"),
                tuple((s, without[s], rows_only[s], with_[s]) for s in slides),
            ),
        ),
        plots=(
            Plot(
                "Burstiness",
                "SLIDE in ms",
                "(max - min) / mean",
                {
                    "without ETS": list(without.items()),
                    "without ETS, rows only": list(rows_only.items()),
                    "with ETS": list(with_.items()),
                },
                log_x=True,
            ),
        ),
        checks=(
            Check(
                "it grows with the slide without ETS",
                without[last] > 5 * without[first],
                f"from {without[first]:.1f} to {without[last]:.1f}",
                known="our aggregates punctuate when their next result is due, and while their "
                "input is busy that tells the union the time without any ETS",
            ),
            Check(
                "it grows with the slide where nothing but rows tells the time",
                rows_only[last] > 5 * rows_only[first],
                f"from {rows_only[first]:.1f} to {rows_only[last]:.1f}",
            ),
            Check(
                "it is flat with ETS",
                max(with_.values()) < 1.2 * min(with_.values()),
                f"between {min(with_.values()):.2f} and {max(with_.values()):.2f}",
            ),
        ),
    )
