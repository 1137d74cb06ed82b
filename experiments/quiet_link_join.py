"""A tumbling join with a quiet, late link: what lateness costs in order and without.

Q8-4: M1 against M2 united with C, in windows of a minute; C is nearly silent and late. Published:
memory grows more slowly without order, because rows of M2 meet those of M1 and M1's are purged
without waiting in front of a merge. M1 and M2 bring 4000 packets a second each, as published.
Spec: window-queries 8, N1.
"""

from __future__ import annotations

from _links import held_under, links_and_a_quiet_one

from penstock.lab.experimenting import Check, Outcome

ALIAS = "N1"

QUERY = """
    SELECT M1.srcIP, M1.destIP, M1.ts FROM M1, M2 UNION C AS M3 [RANGE TUMBLING 1 minute, WA ts]
    WHERE M1.srcIP = M3.destIP AND M1.destIP = M3.srcIP
"""


def run(quick: bool, seed: int) -> Outcome:
    lateness = (0, 10) if quick else (0, 2, 4, 6, 8, 10)
    seconds, rate = (150, 400) if quick else (150, 4000)
    # As many hosts as packets in 25 s, so that each packet finds about five.
    links = links_and_a_quiet_one(rate, seconds, seed, hosts=25 * rate)
    held = held_under(QUERY, links, "C", lateness, "C late by s")
    return Outcome(
        tables=(held.table("rows held at most"),),
        plots=(held.plot("Rows held with a late link", "rows at most"),),
        checks=(
            held.agreement("however late"),
            Check(
                "what is held grows more slowly without order",
                held.growth("OOP") < held.growth("IOP"),
                f"by {held.growth('OOP')} rows against {held.growth('IOP')}",
            ),
        ),
    )
