"""Idle-waiting: the share of time in which a union holds rows and may not move.

Lines A to D as in `_lines.py`, on a virtual clock. Published: A 99 %, B at 100/s and more about
15 %, C below 0.1 %.  Spec: timestamps 4, T2.
"""

from __future__ import annotations

from itertools import pairwise

from _lines import PERIODIC, lines

from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "T2"

#: "About 15 %".
FLOOR = (10.0, 20.0)
NO_FLOOR = (
    "a row waits for the next heartbeat and for nothing else: half a period on average, so the "
    "share falls with the period, and a heartbeat is worked off in 50 µs; the published floor "
    "would need heartbeats that themselves keep the union from moving"
)


def run(quick: bool, seed: int) -> Outcome:
    share = {
        name: 100 * report.idle_waiting / report.ended
        for name, report in lines(quick, seed).items()
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
            Check("A waits 99 % of the time", share["A"] >= 99, f"{share['A']:.2f} %"),
            Check(
                "B falls with its rate",
                all(x > y for x, y in pairwise(periodic)),
                ", ".join(f"{x:.1f} %" for x in periodic),
            ),
            Check(
                "B waits about 15 % of the time at 100 a second and more",
                all(
                    FLOOR[0] <= share[f"B {rate:g}/s"] <= FLOOR[1] for rate in rates if rate >= 100
                ),
                f"{share['B 100/s']:.1f} %, and {share['B 1000/s']:.2f} % at 1000",
                known=NO_FLOOR,
            ),
            Check("C waits below 0.1 % of the time", share["C"] < 0.1, f"{share['C']:.4f} %"),
        ),
    )
