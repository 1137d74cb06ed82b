"""A join for which the processor is too slow, if nothing is stored that can be used again.

Set 2 of `_join_plans.py`. Published: the tree of joins of two (bjtree) has more than twice the
throughput of the MJoin, whose input queues grow.  Spec: dynamic-optimization 5.1, E2.
"""

from __future__ import annotations

from _join_plans import SETS, runs, speed_of

from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "E2"


def run(quick: bool, seed: int) -> Outcome:
    of, found = SETS[2], runs(2, quick, seed)
    speed = speed_of(2, found)
    rows, waiting, done = [], {}, {}
    for name, each in found.items():
        busy, stored = each.steady(of.window)
        waiting[name], done[name] = each.queued(speed)
        rows.append((name, busy / speed, stored, waiting[name][-1], done[name][-1]))
    # By what leaves a second while windows are full: the start is the same for all.
    rates = {
        name: (each[-1] - each[of.window]) / (len(each) - of.window - 1)
        for name, each in done.items()
    }
    half = len(waiting["mjoin"]) // 2
    growing = waiting["mjoin"][of.window], waiting["mjoin"][half], waiting["mjoin"][-1]
    return Outcome(
        tables=(
            Table("plans", ("plan", "busy", "rows stored", "rows waiting", "results"), tuple(rows)),
        ),
        plots=(
            Plot("Results", "s", "results", {name: [*enumerate(e)] for name, e in done.items()}),
            Plot("Queues", "s", "rows", {name: [*enumerate(e)] for name, e in waiting.items()}),
        ),
        checks=(
            Check(
                "bjtree has more than 100 % better throughput",
                rates["bjtree"] > 2 * rates["mjoin"],
                f"{rates['bjtree']:,.0f} results a second against {rates['mjoin']:,.0f}",
            ),
            Check(
                "the input queues of mjoin grow",
                growing[0] < growing[1] < growing[2],
                f"{growing[0]}, {growing[1]}, {growing[2]} rows",
            ),
            Check(
                "those of bjtree do not",
                max(waiting["bjtree"]) <= 3 * sum(of.rates),
                f"at most {max(waiting['bjtree'])} rows, {sum(of.rates):g} come a second",
            ),
        ),
    )
