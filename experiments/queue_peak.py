"""Idle-waiting: the peak of all queues together, in rows and punctuation.

Lines A to D as in `_lines.py`, on a virtual clock. Published: A thousands; C more than two orders
of magnitude less; B falls, then rises again at high rates, because punctuation itself fills the
buffers.  Spec: timestamps 4, T3.
"""

from __future__ import annotations

from _lines import PERIODIC, lines

from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "T3"


def run(quick: bool, seed: int) -> Outcome:
    peak = {name: report.peak_queue for name, report in lines(quick, seed).items()}
    rates = list(PERIODIC)
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
                "B falls, then rises again within the published rates",
                periodic[0] > min(periodic) < periodic[-1],
                ", ".join(map(str, periodic)),
            ),
        ),
    )
