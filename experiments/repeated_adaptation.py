"""Plans that change again and again with selectivities that swap at random.

Three streams at 60 rows a second, windows of 5 s, selectivities of 0.02 and 0.3 that swap four
times at random. Published: four migrations, throughput consistently higher than without and memory
consistently lower, and each migration costs more than where selectivities are 0.005 and 0.02
(E14). The rates are not stated. Compared are the stretches in which the first plan is not the best
one; in the others both run the same.
Spec: dynamic-optimization 5.2, E15.
"""

from __future__ import annotations

import random

import one_adaptation
from _adapting_joins import WINDOW, begun, rows_stored, swapping
from _adapting_joins import run as run_all

from penstock.lab.experimenting import Check, Outcome, Table

ALIAS = "E15"

RATE, SHARES, SWAPS = 60, (0.02, 0.3), 4
#: Seconds between two swaps, and in which plans follow: four windows of the join to either side.
BETWEEN, FOLLOWS = (50, 60), 4 * 2 * WINDOW


def run(quick: bool, seed: int) -> Outcome:
    chance = random.Random(seed)
    swaps = [10]
    while len(swaps) < SWAPS:
        swaps.append(swaps[-1] + chance.randint(*BETWEEN))
    seconds = swaps[-1] + BETWEEN[0]
    runs = {"adapts": begun("SET adapt = on"), "stays": begun("SET adapt = advise")}
    run_all([*runs.values()], RATE, swapping(SHARES, swaps), seconds, seed)
    changes = runs["adapts"].changes
    ends = [*swaps[1:], seconds]
    stretches = [(b + FOLLOWS, e) for b, e in zip(swaps[::2], ends[::2], strict=True)]
    rows = [
        (
            f"{begin} to {end} s",
            *(each.throughput(begin, end) for each in runs.values()),
            *(each.memory(begin, end) for each in runs.values()),
        )
        for begin, end in stretches
    ]
    one = one_adaptation.measured(quick, seed)["adapts"].changes
    recomputed = [each.recomputed for each in changes]
    return Outcome(
        tables=(
            Table(
                "where the first plan is not the best one",
                ("", "adapts: results/s", "stays: results/s", "adapts: rows", "stays: rows"),
                tuple(rows),
            ),
        ),
        plots=(rows_stored(runs),),
        checks=(
            Check(
                f"there are {SWAPS} migrations, one for each swap",
                len(changes) == SWAPS,
                "; ".join(f"{each.before} → {each.after}" for each in changes),
            ),
            Check(
                "throughput is consistently higher",
                all(row[1] > row[2] for row in rows),
                ", ".join(f"{row[1] / row[2] - 1:+.0%}" for row in rows),
            ),
            Check(
                "memory is consistently lower",
                all(row[3] < row[4] for row in rows),
                ", ".join(f"{row[3] / row[4] - 1:+.0%}" for row in rows),
            ),
            Check(
                "each migration costs more than that of E14",
                bool(one) and min(recomputed, default=0) > one[0].recomputed,
                f"{', '.join(map(str, recomputed))} rows computed against "
                f"{one[0].recomputed if one else 0}",
            ),
        ),
    )
