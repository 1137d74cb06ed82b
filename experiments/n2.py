"""A sliding count with a quiet, late link: what lateness costs in order and without.

Q8-5: packets of M1, M2 and C in windows of 5 minutes that slide by 1; C is nearly silent and late.
Published: in order memory grows strongly with the lateness, without order it is stable.
Spec: window-queries 8, N2.
"""

from __future__ import annotations

from _links import packets, rows_held

from penstock.experimenting import Check, Outcome, Plot, Table
from penstock.model.timestamps import SECOND

QUERY = """
    SELECT count(*) AS n FROM (M1 UNION M2 UNION C) [RANGE 5 minutes, SLIDE 1 minute, WA ts]
"""
ARCHITECTURES = {"IOP": ("merge", "auto"), "OOP": ("meld", "auto")}


def run(quick: bool) -> Outcome:
    lateness = (0, 5, 10) if quick else (0, 2, 4, 6, 8, 10)
    seconds, rate = (90, 400) if quick else (330, 4000)
    links = {
        "M1": packets(rate, seconds, 1),
        "M2": packets(rate, seconds, 2),
        "C": packets(0.5, seconds, 3),
    }
    held: dict[str, list[int]] = {name: [] for name in ARCHITECTURES}
    results: set[int] = set()
    for late in lateness:
        skewed = {n: (rows, late * SECOND if n == "C" else 0) for n, rows in links.items()}
        for name, settings in ARCHITECTURES.items():
            most, count = rows_held(QUERY, skewed, settings)
            held[name].append(most)
            results.add(count)
    growth = {name: held[name][-1] - held[name][0] for name in ARCHITECTURES}
    return Outcome(
        tables=(
            Table(
                "rows and partial counts held at most",
                ("C late by s", *ARCHITECTURES),
                tuple((s, *(held[n][i] for n in ARCHITECTURES)) for i, s in enumerate(lateness)),
            ),
        ),
        plots=(
            Plot(
                "Held by a sliding count with a late link",
                "C late by s",
                "rows and counts at most",
                {name: list(zip(lateness, held[name], strict=True)) for name in ARCHITECTURES},
            ),
        ),
        checks=(
            Check("both give as many results, however late", len(results) == 1, str(results)),
            Check(
                "in order it grows by what M1 and M2 bring in that time",
                growth["IOP"] >= 0.8 * lateness[-1] * 2 * rate,
                f"by {growth['IOP']} rows; {lateness[-1]} s bring {lateness[-1] * 2 * rate}",
            ),
            Check(
                "out of order it is stable: a few counts per open window",
                max(held["OOP"]) <= 100,
                str(held["OOP"]),
            ),
        ),
    )
