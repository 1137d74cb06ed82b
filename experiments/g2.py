"""A count over two united links against their skew: what is held, in order and without.

Q8-2: packets per source and destination in windows of a minute, over M1 united with M2, which is
late. Published for 110K packets/s on each link and 65,536 groups: out of order takes less memory,
almost flat in the skew; in order rises steeply, because a merge holds M1 until M2 has come as far.

Rates and groups are scaled down alike, which keeps their relation.  Spec: window-queries 8, G2.
"""

from __future__ import annotations

from _links import held_under, packets

from penstock.experimenting import Check, Outcome

QUERY = """
    SELECT srcIP, destIP, count(*) AS n FROM (M1 UNION M2) [RANGE 1 minute, SLIDE 1 minute, WA ts]
    GROUP BY srcIP, destIP
"""
RATE, GROUPS = 110_000, 65_536


def run(quick: bool) -> Outcome:
    skews = (0, 20, 40) if quick else (0, 10, 20, 30, 40)
    seconds, scale = (130, 200) if quick else (190, 20)
    hosts = GROUPS // scale
    links = {
        name: packets(RATE / scale, seconds, seed, hosts) for seed, name in enumerate(("M1", "M2"))
    }
    held = held_under(QUERY, links, "M2", skews, "skew in s")
    most = held.most
    scaled = f"rates and groups / {scale}"
    return Outcome(
        tables=(held.table(f"rows and partial aggregates held at most ({scaled})"),),
        plots=(held.plot("Held by a count over two links", "rows and aggregates at most"),),
        checks=(
            held.agreement("whatever the skew"),
            Check(
                "out of order less is held under any skew",
                all(o < i for i, o in list(zip(most["IOP"], most["OOP"], strict=True))[1:]),
                f"{most['OOP']} against {most['IOP']}",
            ),
            Check(
                "in order it rises by what comes in the time of the skew",
                held.growth("IOP") >= 0.8 * skews[-1] * RATE / scale,
                f"by {held.growth('IOP')} rows; {skews[-1]} s bring {skews[-1] * RATE // scale}",
            ),
            Check(
                "out of order it is almost flat: at most the groups of one more window",
                held.growth("OOP") <= 2 * hosts,
                f"by {held.growth('OOP')}; a window has {hosts} groups",
            ),
        ),
    )
