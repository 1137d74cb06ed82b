"""A join for which neither the MJoin nor joins of two fit, but a plan in between does.

Set 4 of `_join_plans.py`, scaled as said there. Published: with 30 MB the tree of joins of two
(bjtree) is fastest at first and out of memory at about 80 s; a hybrid is faster than the MJoin, and
survives. What 30 MB are in rows is not published. Here the limit is 15 times what the MJoin
stores: by the published model a hybrid stores 6 times and bjtree 18 times as many; ours 10 and 38
times, because results that wait for others stay for two windows.
Spec: dynamic-optimization 5.1, E4.
"""

from __future__ import annotations

from _join_plans import QUICK, SETS, runs, speed_of

from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "E4"


def run(quick: bool, seed: int) -> Outcome:
    of, found = (QUICK if quick else SETS)[4], runs(4, quick, seed)
    busy = {name: each.steady(of.window)[0] for name, each in found.items()}
    stored = {name: each.steady(of.window)[1] for name, each in found.items()}
    limit, speed = 15 * stored["mjoin"], speed_of(4, found)
    over = {
        name: next((second for second, rows in enumerate(each.stored) if rows > limit), None)
        for name, each in found.items()
    }
    rows = tuple((name, busy[name] / speed, stored[name], over[name]) for name in found)
    lines = {name: [*enumerate(each.stored)] for name, each in found.items()}
    lines["limit"] = [(0, limit), (len(found["mjoin"].stored), limit)]
    return Outcome(
        tables=(Table("plans", ("plan", "busy", "rows stored", "above the limit at s"), rows),),
        plots=(Plot("Rows stored", "s", "rows", lines),),
        checks=(
            Check(
                "bjtree is fastest",
                busy["bjtree"] == min(busy.values()),
                ", ".join(f"{name} {1000 * each:.0f} ms/s" for name, each in busy.items()),
            ),
            Check(
                "bjtree runs out of memory",
                over["bjtree"] is not None,
                f"{stored['bjtree']:,.0f} rows, limit {limit:,.0f}",
            ),
            Check(
                "bjtree runs out of memory at about 80 s",
                over["bjtree"] is not None and 70 <= over["bjtree"] <= 90,
                f"at {over['bjtree']} s",
                known="states are full after one window, 50 s, and exceed the limit before: what "
                "grows for longer is a heap with garbage in it, and rows are counted here",
            ),
            Check(
                "the hybrid plan is faster than mjoin",
                busy["hybrid"] < busy["mjoin"],
                f"{1000 * busy['hybrid']:.0f} against {1000 * busy['mjoin']:.0f} ms/s",
            ),
            Check(
                "the hybrid plan survives",
                over["hybrid"] is None,
                f"{stored['hybrid']:,.0f} rows, limit {limit:,.0f}",
            ),
        ),
    )
