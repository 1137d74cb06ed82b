"""How often each way to look for a join's plan finds one that fits processor and memory.

3 to 20 streams, 100 random settings each; `_join_settings.py` says what was published of them and
what is chosen here. Published: both strategies come to the same, and to what the exhaustive search
finds wherever that ends; from 8 streams on it runs out of memory. Here it is asked up to 6 streams,
with 2,752 plans; 8 have 660,032.  Spec: dynamic-optimization 5.1, E5.
"""

from __future__ import annotations

import itertools

from _join_settings import qualified, settings

from penstock.lab.experimenting import Check, Outcome, Plot, Table
from penstock.optimizer.joins.exhaustive import all_shapes, exhaustive
from penstock.optimizer.joins.strategy import bjtree_init, mjoin_init

ALIAS = "E5"


def run(quick: bool, seed: int) -> Outcome:
    counts = (3, 4, 5, 8, 12) if quick else tuple(range(3, 21))
    tried, up_to = (30, 4) if quick else (100, 6)
    rows: list[tuple[int, float, float, float | None]] = []
    for streams in counts:
        found = [0, 0, 0]
        for each in settings(streams, tried, seed):
            for number, way in enumerate((mjoin_init, bjtree_init)):
                found[number] += qualified(way(each.trees, each.limits), each.limits) is not None
            if streams <= up_to:
                found[2] += exhaustive(each.trees, each.limits) is not None
        mjoin, bjtree, every = (100 * number / tried for number in found)
        rows.append((streams, mjoin, bjtree, every if streams <= up_to else None))
    names = ("mjoin-init", "bjtree-init", "exhaustive")
    lines = {
        name: [(float(row[0]), value) for row in rows if (value := row[at]) is not None]
        for at, name in enumerate(names, start=1)
    }
    apart = [abs(mjoin - bjtree) for _, mjoin, bjtree, _ in rows]
    missed = [
        (every - mjoin, every - bjtree) for _, mjoin, bjtree, every in rows if every is not None
    ]
    trees = [sum(1 for _ in all_shapes(count)) for count in range(3, 7)]
    return Outcome(
        tables=(Table("settings solved, in %", ("streams", *names), tuple(rows)),),
        plots=(Plot("Qualified percentage", "streams", "% of settings", lines),),
        checks=(
            Check(
                "mjoin-init and bjtree-init solve about as many settings",
                max(apart) <= 10,
                f"at most {max(apart):.0f} points apart",
            ),
            Check(
                "both solve about as many as the exhaustive search, where that ends",
                max(map(max, missed)) <= 10,
                f"at most {max(map(max, missed)):.0f} points less",
            ),
            Check(
                "neither solves one that the exhaustive search does not",
                min(map(min, missed)) >= 0,
                f"{min(map(min, missed)):.0f} points",
            ),
            Check(
                "the exhaustive search is over before 8 streams: its plans grow too fast",
                all(b > 6 * a for a, b in itertools.pairwise(trees)),
                f"{', '.join(map(str, trees))} trees for 3 to 6 streams",
            ),
        ),
    )
