"""Hidden costs of order: what four plans hold in order (IOP) and out of order (OOP).

A lull of one input of a union; one ordered input whose rows go through a cheap or an expensive
predicate; a join with a late input; a join whose results must come in order. Published as cases
with predicted figures, not as measurements; nothing is drawn at random.
Spec: window-queries 7.3, Fig 8-3 to 8-5.
"""

from __future__ import annotations

from _order import MODES, late_input, lull, ordered_output, split_plan

from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "M1"


def run(quick: bool, seed: int) -> Outcome:
    lulls = (60, 120, 240) if quick else (60, 300, 600, 1200)
    delays = (0, 20, 40) if quick else (0, 20, 40, 60, 80)
    silent = {mode: [lull(mode, seconds) for seconds in lulls] for mode in MODES}
    split = {mode: [split_plan(mode, seconds) for seconds in delays] for mode in MODES}
    late = {mode: late_input(mode) for mode in MODES}
    widths = ((3, 2), (6, 4), (12, 8))
    withheld = {w: ordered_output(True, *w) for w in widths}
    at_once = {w: ordered_output(False, *w) for w in widths}
    growth = {mode: split[mode][-1][0] - split[mode][0][0] for mode in MODES}
    waiting = 3 * delays[-1] // 4
    kept_open = -(-delays[-1] // 60)  # windows of a minute that the delay reaches over
    return Outcome(
        tables=(
            Table(
                "1. rows held at most in a lull of Control",
                ("lull in s", *MODES),
                tuple((s, *(silent[m][i][0] for m in MODES)) for i, s in enumerate(lulls)),
            ),
            Table(
                "2. rows held at most in a split plan",
                ("expensive branch behind by s", *MODES),
                tuple((s, *(split[m][i][0] for m in MODES)) for i, s in enumerate(delays)),
            ),
            Table(
                "3. rows held, one a minute, least and most; S0 up to 5 min late, windows of 2 min",
                ("where", *MODES),
                tuple(
                    (where, *("{} to {}".format(*late[m][where]) for m in MODES))
                    for where in late["iop"]
                ),
            ),
            Table(
                "4. results of a join that are withheld",
                ("windows in min", "ordered by S0.ts", "of S0's last minutes", "unordered"),
                tuple(
                    (f"{r0}, {r1}", withheld[r0, r1][0], r0 + 1, at_once[r0, r1][0])
                    for r0, r1 in widths
                ),
            ),
        ),
        plots=(
            Plot(
                "A split plan",
                "expensive branch behind by s",
                "rows at most",
                {m: [(s, split[m][i][0]) for i, s in enumerate(delays)] for m in MODES},
            ),
        ),
        checks=(
            Check(
                "both modes count the same rows",
                all(
                    [n for _, n in of["iop"]] == [n for _, n in of["oop"]] for of in (silent, split)
                ),
                str([n for _, n in split["oop"]]),
            ),
            Check(
                "1: in order every row of a lull waits; out of order a few counts per open window",
                all(
                    silent["iop"][i][0] >= 2 * s and silent["oop"][i][0] <= 2 * (s // 60 + 4)
                    for i, s in enumerate(lulls)
                ),
                f"{silent['iop'][-1][0]} against {silent['oop'][-1][0]}",
            ),
            Check(
                "2: in order the cheap branch's rows wait for as long as the other takes; "
                "out of order there is a count more for each window that it keeps open",
                abs(growth["iop"] - waiting) <= 4 and growth["oop"] <= kept_open,
                f"{growth['iop']} of {waiting} rows; {growth['oop']} of {kept_open} counts",
            ),
            Check(
                "3: in order a sort holds 5 minutes of S0 and the join none; both need 7 of S1, "
                "and out of order the join 2 of S0",
                late["iop"]["sort of S0"] == both(5 + 1)
                and late["iop"]["S0"] == late["oop"]["sort of S0"] == both(0)
                and late["oop"]["S0"][0] == 2 + 1
                and late["iop"]["S1"][0] == late["oop"]["S1"][0] == 7 + 1,
                f"{late['iop']} against {late['oop']}",
            ),
            Check(
                "3: and none of them ever holds more",
                late["oop"]["S0"] == both(2 + 1)
                and late["iop"]["S1"] == late["oop"]["S1"] == both(7 + 1),
                f"at most {late['oop']['S0'][1]} of S0, {late['oop']['S1'][1]} of S1",
                known="rows stand in sorted runs, which go as a whole when their newest row can",
            ),
            Check(
                "4: withheld is what S0 rows of the last RANGE have found, and it grows with it",
                all(withheld[w][1] == list(range(-w[0], 1)) and at_once[w][0] == 0 for w in widths),
                ", ".join(f"{r0} min: {withheld[r0, r1][0]}" for r0, r1 in widths),
            ),
        ),
    )


def both(count: int) -> tuple[int, int]:
    """At least and at most."""
    return count, count
