"""In-order joins against the slower rate: waiting rules at low rates, and the gain grows.

l2 = 10/s, l1 from 0.01 to 1/s, c = 0.5 ms, w = 1 minute, on a virtual clock. Published: over a
minute at low l1 for all; the gain of Filter-Order grows with l1; Adaptive switches at 1/s. There
c w l1 l2 = alpha to the digit, so its estimate lies now above and now below: what can be asked is
that it switches there, and not before.  Spec: ordered-joins 6, H3.
"""

from __future__ import annotations

import itertools

from _ordered import ALGORITHMS, measured

from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "H3"

COST = 5e-4
SLOW = (0.01, 0.1, 0.3, 1.0)


def run(quick: bool, seed: int) -> Outcome:
    rows_of_slow = 100 if quick else 600
    results = {
        name: {l1: measured(name, (l1, 10.0), COST, int(rows_of_slow / l1), seed) for l1 in SLOW}
        for name in ALGORITHMS
    }
    times = {name: [results[name][l1].response for l1 in SLOW] for name in ALGORITHMS}
    sync, order, adaptive = (times[name] for name in ALGORITHMS)
    gains = [(s - o) / s for s, o in zip(sync, order, strict=True)]
    shares = [results["Adaptive"][l1].ordering_output for l1 in SLOW]
    rows = tuple(
        (l1, *(times[name][place] for name in ALGORITHMS), gains[place], shares[place])
        for place, l1 in enumerate(SLOW)
    )
    return Outcome(
        tables=(
            Table(
                "average response in s",
                ("l1 per s", *ALGORITHMS, "gain", "orders output"),
                rows,
            ),
        ),
        plots=(
            Plot(
                "Response time",
                "slower rate per s",
                "average response in s",
                {name: list(zip(SLOW, times[name], strict=True)) for name in ALGORITHMS},
                log_x=True,
                log_y=True,
            ),
        ),
        checks=(
            Check(
                "at the lowest rate all take over a minute",
                min(sync[0], order[0], adaptive[0]) > 60 and gains[0] < 0.1,
                f"{sync[0]:.0f}, {order[0]:.0f} and {adaptive[0]:.0f} s",
            ),
            Check(
                "the gain of Filter-Order grows with the slower rate",
                all(a < b for a, b in itertools.pairwise(gains)),
                ", ".join(f"{gain:.1%}" for gain in gains),
            ),
            Check(
                "Adaptive switches at 1/s, and not before",
                not any(shares[:-1]) and shares[-1] > 0,
                ", ".join(f"{l1:g}: {s:.0%}" for l1, s in zip(SLOW, shares, strict=True)),
            ),
        ),
    )
