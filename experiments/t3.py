"""Idle-waiting: the peak of all queues together, in rows and punctuation.

Lines A to D as in `_lines.py`, on a virtual clock. Published: A thousands; C more than two orders
of magnitude less; B falls, then rises again at high rates, because punctuation itself fills the
buffers. Here that is so where punctuation comes about as fast as it can be worked off, at 25 µs for
each of two operators: at 20,000 a second.  Spec: timestamps 4, T3.
"""

from __future__ import annotations

from _lines import PERIODIC, RATES, lines
from _streams import poisson, two_streams, virtual_host

from penstock.experimenting import Check, Outcome, Plot, Table
from penstock.local.simulation import simulate
from penstock.model.ets import NO_ETS
from penstock.model.timestamps import SECOND

FAST = 20_000.0


def run(quick: bool) -> Outcome:
    peak = {name: report.peak_queue for name, report in lines(quick).items()}
    # The rate at which queues grow without end; a short while of it is enough.
    length = 2 if quick else 5
    host = two_streams(virtual_host(NO_ETS), heartbeat=round(SECOND / FAST))
    report = simulate(host, poisson(RATES, length), until=length * SECOND)
    peak[f"B {FAST:g}/s"] = report.peak_queue
    rates = [*PERIODIC, FAST]
    periodic = [peak[f"B {rate:g}/s"] for rate in rates]
    ends = (rates[0], rates[-1])
    return Outcome(
        tables=(Table("peak of all queues", ("line", "items"), tuple(peak.items())),),
        plots=(
            Plot(
                "Peak total queue",
                "periodic ETS per second",
                "rows and punctuation",
                {
                    "A none": [(x, peak["A"]) for x in ends],
                    "B periodic": list(zip(rates, periodic, strict=True)),
                    "C on demand": [(x, peak["C"]) for x in ends],
                },
                log_x=True,
                log_y=True,
            ),
        ),
        checks=(
            Check("A holds thousands", peak["A"] >= 1000, f"{peak['A']}"),
            Check(
                "C holds more than 100 times less than A",
                peak["A"] > 100 * peak["C"],
                f"{peak['C']} against {peak['A']}",
            ),
            Check(
                "B falls, then rises again",
                periodic[0] > min(periodic) < periodic[-1],
                ", ".join(map(str, periodic)),
            ),
        ),
    )
