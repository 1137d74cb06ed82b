"""A join for which memory is too little, if intermediate results are stored.

Set 3 of `_join_plans.py`. Published: with 30 MB both plans have the same throughput at first; the
tree of joins of two (bjtree) reaches the limit at about 50 s, while the MJoin takes about 12 MB on
average. The limit here is 30/12 of the rows that the MJoin stores.
Spec: dynamic-optimization 5.1, E3.
"""

from __future__ import annotations

from _join_plans import SETS, runs, speed_of

from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "E3"


def run(quick: bool, seed: int) -> Outcome:
    of, found = SETS[3], runs(3, quick, seed)
    stored = {name: each.steady(of.window)[1] for name, each in found.items()}
    limit = stored["mjoin"] * 30 / 12
    over = {
        name: next((second for second, rows in enumerate(each.stored) if rows > limit), None)
        for name, each in found.items()
    }
    end = over["bjtree"] or of.window
    speed = speed_of(3, found)
    first = {name: each.queued(speed)[1][end] for name, each in found.items()}
    rows = tuple(
        (name, each.steady(of.window)[0] / speed, stored[name], over[name], first[name])
        for name, each in found.items()
    )
    columns = ("plan", "busy", "rows stored", "above the limit at s", "results by then")
    lines = {name: [*enumerate(each.stored)] for name, each in found.items()}
    lines["limit"] = [(0, limit), (len(found["mjoin"].stored), limit)]
    return Outcome(
        tables=(Table("plans", columns, rows),),
        plots=(Plot("Rows stored", "s", "rows", lines),),
        checks=(
            Check(
                "at first both have the same throughput",
                abs(first["mjoin"] - first["bjtree"]) <= 0.15 * first["bjtree"],
                f"{first['mjoin']:,} and {first['bjtree']:,} results in {end} s",
            ),
            Check(
                "bjtree exceeds the limit, mjoin does not",
                over["bjtree"] is not None and over["mjoin"] is None,
                f"{stored['bjtree']:,.0f} and {stored['mjoin']:,.0f} rows, limit {limit:,.0f}",
            ),
            Check(
                "bjtree reaches the limit at about 50 s",
                over["bjtree"] is not None and 40 <= over["bjtree"] <= 60,
                f"at {over['bjtree']} s",
                known="states are full after one window, 15 s: what grows for longer is a heap "
                "with garbage in it, and rows are counted here",
            ),
        ),
    )
