"""Idle-waiting: the share of time in which a union holds rows and may not move.

Lines A to D as in `_lines.py`, on a virtual clock. Published: A 99 %, B at 100/s and more about
15 %, C below 0.1 %. How far B falls at a given rate depends on how long rows wait for the next
beat; that it falls and stays above C does not.  Spec: timestamps 4, T2.
"""

from __future__ import annotations

from itertools import pairwise

from _lines import PERIODIC, lines

from penstock.experimenting import Check, Outcome, Plot, Table


def run(quick: bool) -> Outcome:
    share = {
        name: 100 * report.idle_waiting / report.ended for name, report in lines(quick).items()
    }
    periodic = [share[f"B {rate:g}/s"] for rate in PERIODIC]
    rates = list(PERIODIC)
    ends = (rates[0], rates[-1])
    return Outcome(
        tables=(Table("idle-waiting", ("line", "% of the time"), tuple(share.items())),),
        plots=(
            Plot(
                "Share of time idle-waiting",
                "periodic ETS per second",
                "%",
                {
                    "A none": [(x, share["A"]) for x in ends],
                    "B periodic": list(zip(rates, periodic, strict=True)),
                    "C on demand": [(x, share["C"]) for x in ends],
                },
                log_x=True,
            ),
        ),
        checks=(
            Check("A waits nearly all the time", share["A"] > 95, f"{share['A']:.1f} %"),
            Check(
                "B falls with its rate",
                all(x > y for x, y in pairwise(periodic)),
                ", ".join(f"{x:.1f} %" for x in periodic),
            ),
            Check(
                "B still waits at 100 a second",
                share["B 100/s"] > 5,
                f"{share['B 100/s']:.1f} %, and {share['B 1000/s']:.2f} % at 1000",
            ),
            Check("C waits below 0.1 % of the time", share["C"] < 0.1, f"{share['C']:.4f} %"),
        ),
    )
