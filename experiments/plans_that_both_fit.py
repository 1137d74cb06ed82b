"""A join whose plans all fit: they give the same, and the tree of joins of two stores more.

Set 1 of `_join_plans.py`. Published: equal throughput, input queues near 0, and much larger states
of the tree of joins of two (bjtree).  Spec: dynamic-optimization 5.1, E1.
"""

from __future__ import annotations

from _join_plans import SETS, runs, speed_of

from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "E1"


def run(quick: bool, seed: int) -> Outcome:
    of, found = SETS[1], runs(1, quick, seed)
    speed = speed_of(1, found)
    rows, waiting, done = [], {}, {}
    for name, each in found.items():
        busy, stored = each.steady(of.window)
        waiting[name], results = each.queued(speed)
        done[name] = results[-1]
        rows.append((name, busy / speed, stored, waiting[name][-1], results[-1]))
    stored = {row[0]: row[2] for row in rows}
    second = sum(of.rates)
    return Outcome(
        tables=(
            Table("plans", ("plan", "busy", "rows stored", "rows waiting", "results"), tuple(rows)),
        ),
        plots=(
            Plot(
                "Rows stored",
                "s",
                "rows",
                {name: [*enumerate(each.stored)] for name, each in found.items()},
            ),
        ),
        checks=(
            Check(
                "both have the same throughput",
                abs(done["mjoin"] / done["bjtree"] - 1) < 0.15,
                f"{done['mjoin']:,} and {done['bjtree']:,} results",
            ),
            Check(
                "input queues stay near 0: at most what comes in two seconds",
                all(max(each) <= 2.5 * second for each in waiting.values()),
                f"at most {max(map(max, waiting.values()))} rows, {second:g} come a second",
            ),
            Check(
                "bjtree has much larger states: twice and more",
                stored["bjtree"] > 2 * stored["mjoin"],
                f"{stored['bjtree']:,.0f} rows against {stored['mjoin']:,.0f}",
            ),
        ),
    )
