"""A tumbling join of united links against their skew: how many rows are held, in order and without.

Q8-3: A and B against C and D in windows of 10 seconds; B and D come late. Published: the same
number of rows either way, for what does not wait in front of a merge waits in the join.
Spec: window-queries 8, G3.
"""

from __future__ import annotations

from _links import ARCHITECTURES, packets, rows_held

from penstock.experimenting import Check, Outcome, Plot, Table
from penstock.model.timestamps import SECOND

QUERY = """
    SELECT M1.srcIP, M1.destIP, M1.ts
    FROM A UNION B AS M1, C UNION D AS M2 [RANGE TUMBLING 10 seconds, WA ts]
    WHERE M1.srcIP = M2.destIP AND M1.destIP = M2.srcIP
"""


def run(quick: bool) -> Outcome:
    skews = (0, 20, 60) if quick else (0, 20, 40, 60, 80, 100)
    seconds, rate = (100, 50) if quick else (200, 200)
    links = {name: packets(rate, seconds, seed) for seed, name in enumerate("ABCD")}
    held: dict[str, list[int]] = {name: [] for name in ARCHITECTURES}
    results: dict[str, list[int]] = {name: [] for name in ARCHITECTURES}
    for skew in skews:
        late = {n: (rows, skew * SECOND if n in "BD" else 0) for n, rows in links.items()}
        for name, settings in ARCHITECTURES.items():
            most, count = rows_held(QUERY, late, settings)
            held[name].append(most)
            results[name].append(count)
    ratios = [o / i for i, o in zip(held["IOP"], held["OOP"], strict=True)]
    return Outcome(
        tables=(
            Table(
                "rows held at most",
                ("skew in s", *ARCHITECTURES),
                tuple((s, *(held[n][i] for n in ARCHITECTURES)) for i, s in enumerate(skews)),
            ),
        ),
        plots=(
            Plot(
                "Rows held by a tumbling join",
                "skew in s",
                "rows at most",
                {name: list(zip(skews, held[name], strict=True)) for name in ARCHITECTURES},
            ),
        ),
        checks=(
            Check(
                "both give as many results, whatever the skew",
                len({*results["IOP"], *results["OOP"]}) == 1,
                str(results["OOP"]),
            ),
            Check(
                "without order at most 20 % more rows are held",
                max(ratios) <= 1.2,
                ", ".join(f"{ratio:.2f}x" for ratio in ratios),
            ),
        ),
    )
