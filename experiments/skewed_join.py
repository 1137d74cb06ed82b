"""A tumbling join of united links against their skew: how many rows are held, in order and without.

Q8-3: A and B against C and D in windows of 10 seconds; B and D come late by up to 100 s. Published
for 10 K packets/s on each link: the same number of rows either way, for what does not wait in front
of a merge waits in the join; without order at most 20 % more, and nothing worth telling below 20 s.
Rates and hosts are scaled down alike, which keeps their relation.

A second query has other windows, skews, rates and seeds. (A run of the join's store keeps to one
window unless a block has more than four, so here nothing is held beyond what is needed.)
Spec: window-queries 8, G3.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from _links import ARCHITECTURES, held_under, packets, rows_held

from penstock.lab.experimenting import Check, Outcome
from penstock.model.timestamps import SECOND

ALIAS = "G3"

QUERY = """
    SELECT M1.srcIP, M1.destIP, M1.ts
    FROM A UNION B AS M1, C UNION D AS M2 [RANGE TUMBLING 10 seconds, WA ts]
    WHERE M1.srcIP = M2.destIP AND M1.destIP = M2.srcIP
"""


OTHER = """
    SELECT M1.srcIP, M1.destIP, M1.ts
    FROM A UNION B AS M1, C UNION D AS M2 [RANGE TUMBLING 25 seconds, WA ts]
    WHERE M1.srcIP = M2.destIP AND M1.destIP = M2.srcIP
"""


def ratio(query: str, links: Mapping[str, tuple[pl.DataFrame, int]]) -> float:
    """Rows held at most without order, for each that is held in order."""
    in_order, without = (rows_held(query, links, ARCHITECTURES[n])[0] for n in ("IOP", "OOP"))
    return float(without / in_order)


RATE, HOSTS = 10_000, 50_000
#: Seconds of skew below which there is nothing worth telling, and what that is.
SMALL, NEGLIGIBLE = 20, 1.02


def run(quick: bool, seed: int) -> Outcome:
    skews = (0, 10, 60) if quick else (0, 10, 20, 40, 60, 80, 100)
    seconds, scale = (100, 200) if quick else (200, 20)
    rate, hosts = RATE / scale, HOSTS // scale
    links = {
        name: packets(rate, seconds, seed, number, hosts) for number, name in enumerate("ABCD")
    }
    held = held_under(QUERY, links, "B D", skews, "skew in s")
    shares = {"A": 0.45, "B": 0.9, "C": 0.65, "D": 0.2}
    other = {
        name: packets(rate * share, seconds, seed, number, hosts)
        for number, (name, share) in enumerate(shares.items(), 50)
    }
    others = [
        ratio(OTHER, {n: (rows, skew * SECOND if n in "AD" else 0) for n, rows in other.items()})
        for skew in ((0, 35) if quick else (0, 15, 35, 75))
    ]
    ratios = [o / i for i, o in zip(held.most["IOP"], held.most["OOP"], strict=True)]
    return Outcome(
        tables=(held.table(f"rows held at most (rates and hosts / {scale})"),),
        plots=(held.plot("Rows held by a tumbling join", "rows at most"),),
        checks=(
            held.agreement("whatever the skew"),
            Check(
                "without order at most 20 % more rows are held",
                max(ratios) <= 1.2,
                ", ".join(f"{each:.2f}x" for each in ratios),
            ),
            Check(
                f"and as many below a skew of {SMALL} s",
                all(r <= NEGLIGIBLE for s, r in zip(skews, ratios, strict=True) if s < SMALL),
                ", ".join(
                    f"{s} s: {r:.2f}x" for s, r in zip(skews, ratios, strict=True) if s < SMALL
                ),
            ),
            Check(
                "the same for the second query, skews of 0 to 75 s",
                max(others) <= 1.2,
                ", ".join(f"{each:.2f}x" for each in others),
            ),
        ),
    )
