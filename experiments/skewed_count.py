"""A count over two united links against their skew: what is held, in order and without.

Q8-2: packets per source and destination in windows of a minute, over M1 united with M2, which is
late. Published for 110K packets/s on each link and 65,536 groups: out of order takes less memory,
almost flat in the skew; in order rises steeply, because a merge holds M1 until M2 has come as far.

Rates and groups are scaled down alike, which keeps their relation.  Spec: window-queries 8, G2.
"""

from __future__ import annotations

from _links import held_under, packets

from penstock.lab.experimenting import Check, Outcome

ALIAS = "G2"

QUERY = """
    SELECT srcIP, destIP, count(*) AS n FROM (M1 UNION M2) [RANGE 1 minute, SLIDE 1 minute, WA ts]
    GROUP BY srcIP, destIP
"""
RATE, GROUPS = 110_000, 65_536


def run(quick: bool, seed: int) -> Outcome:
    skews = (0, 20, 40) if quick else (0, 10, 20, 30, 40)
    seconds, scale = (130, 200) if quick else (190, 20)
    hosts = GROUPS // scale
    links = {
        name: packets(RATE / scale, seconds, seed, number, hosts)
        for number, name in enumerate(("M1", "M2"))
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
                "out of order less is held at every skew, and at none",
                all(o < i for i, o in zip(most["IOP"], most["OOP"], strict=True)),
                f"{most['OOP']} against {most['IOP']}",
                known="with no skew a merge has nothing to hold, and the count is the same "
                "operator in both, fed by one ordered link there and by two here: WID keeps a "
                "segment of partials for each of the last blocks until they are merged",
            ),
            Check(
                "out of order less is held at every skew above that",
                all(o < i for i, o in list(zip(most["IOP"], most["OOP"], strict=True))[1:]),
                f"{most['OOP'][1:]} against {most['IOP'][1:]}",
            ),
            Check(
                "in order it rises by what comes in the time of the skew",
                held.growth("IOP") >= 0.8 * skews[-1] * RATE / scale,
                f"by {held.growth('IOP')} rows; {skews[-1]} s bring {skews[-1] * RATE // scale}",
            ),
            Check(
                "out of order it is almost flat: it grows by at most a quarter",
                held.growth("OOP") <= most["OOP"][0] / 4,
                f"by {held.growth('OOP') / most['OOP'][0]:.0%}, "
                f"where in order it grows {most['IOP'][-1] / most['IOP'][0]:.0f} times",
            ),
        ),
    )
