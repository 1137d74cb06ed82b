"""A sliding count with a quiet, late link: what lateness costs in order and without.

Q8-5: packets of M1, M2 and C in windows of 5 minutes that slide by 1; C is nearly silent and late.
Published: in order memory grows strongly with the lateness, without order it is stable.
Spec: window-queries 8, N2.
"""

from __future__ import annotations

from _links import held_under, links_and_a_quiet_one

from penstock.lab.experimenting import Check, Outcome

ALIAS = "N2"

QUERY = """
    SELECT count(*) AS n FROM (M1 UNION M2 UNION C) [RANGE 5 minutes, SLIDE 1 minute, WA ts]
"""


def run(quick: bool, seed: int) -> Outcome:
    lateness = (0, 5, 10) if quick else (0, 2, 4, 6, 8, 10)
    seconds, rate = (90, 400) if quick else (330, 4000)
    links = links_and_a_quiet_one(rate, seconds, seed)
    held = held_under(QUERY, links, "C", lateness, "C late by s")
    return Outcome(
        tables=(held.table("rows and partial counts held at most"),),
        plots=(held.plot("Held by a sliding count with a late link", "rows and counts at most"),),
        checks=(
            held.agreement("however late"),
            Check(
                "in order it grows by what M1 and M2 bring in that time",
                held.growth("IOP") >= 0.8 * lateness[-1] * 2 * rate,
                f"by {held.growth('IOP')} rows; {lateness[-1]} s bring {lateness[-1] * 2 * rate}",
            ),
            Check(
                "out of order it is stable: a few counts per open window",
                max(held.most["OOP"]) <= 100,
                str(held.most["OOP"]),
            ),
        ),
    )
