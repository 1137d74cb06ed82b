"""A count over two united links against their skew: what is held, in order and without.

Q8-2: packets per source and destination in windows of a minute, over M1 united with M2, which is
late. Published for 110K packets/s on each link and 65,536 groups: out of order takes less memory,
almost flat in the skew; in order rises steeply, because a merge holds M1 until M2 has come as far.

Rates and groups are scaled down alike, which keeps their relation.  Spec: window-queries 8, G2.
"""

from __future__ import annotations

from _links import packets, rows_held

from penstock.experimenting import Check, Outcome, Plot, Table
from penstock.model.timestamps import SECOND

QUERY = """
    SELECT srcIP, destIP, count(*) AS n FROM (M1 UNION M2) [RANGE 1 minute, SLIDE 1 minute, WA ts]
    GROUP BY srcIP, destIP
"""
ARCHITECTURES = {"IOP": ("merge", "auto"), "OOP": ("meld", "auto")}
RATE, GROUPS = 110_000, 65_536


def run(quick: bool) -> Outcome:
    skews = (0, 20, 40) if quick else (0, 10, 20, 30, 40)
    seconds, scale = (130, 200) if quick else (190, 20)
    hosts = GROUPS // scale
    links = {
        name: packets(RATE / scale, seconds, seed, hosts) for seed, name in enumerate(("M1", "M2"))
    }
    held: dict[str, list[int]] = {name: [] for name in ARCHITECTURES}
    results: set[int] = set()
    for skew in skews:
        late = {n: (rows, skew * SECOND if n == "M2" else 0) for n, rows in links.items()}
        for name, settings in ARCHITECTURES.items():
            most, count = rows_held(QUERY, late, settings)
            held[name].append(most)
            results.add(count)
    growth = {name: held[name][-1] - held[name][0] for name in ARCHITECTURES}
    return Outcome(
        tables=(
            Table(
                f"rows and partial aggregates held at most (rates and groups / {scale})",
                ("skew in s", *ARCHITECTURES),
                tuple((s, *(held[n][i] for n in ARCHITECTURES)) for i, s in enumerate(skews)),
            ),
        ),
        plots=(
            Plot(
                "Held by a count over two links",
                "skew in s",
                "rows and aggregates at most",
                {name: list(zip(skews, held[name], strict=True)) for name in ARCHITECTURES},
            ),
        ),
        checks=(
            Check("both give as many results, whatever the skew", len(results) == 1, str(results)),
            Check(
                "out of order less is held under any skew",
                all(o < i for i, o in list(zip(held["IOP"], held["OOP"], strict=True))[1:]),
                f"{held['OOP']} against {held['IOP']}",
            ),
            Check(
                "in order it rises by what comes in the time of the skew",
                growth["IOP"] >= 0.8 * skews[-1] * RATE / scale,
                f"by {growth['IOP']} rows; {skews[-1]} s bring {skews[-1] * RATE // scale}",
            ),
            Check(
                "out of order it is almost flat: at most the groups of one more window",
                growth["OOP"] <= 2 * hosts,
                f"by {growth['OOP']}; a window has {hosts} groups",
            ),
        ),
    )
