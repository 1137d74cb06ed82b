"""OA-Join against OPIB-Join: what it costs to keep results in order by delaying left rows.

As J1. Published: OA-Join holds slightly less at all windows, and OPIB-Join far less than OPOB-Join.
Spec: window-queries 6.5, 8, J2.
"""

from __future__ import annotations

from _memory import RATE, conversations, run_join

from penstock.kernel.joins.tactics.opib import OPIB
from penstock.kernel.joins.tactics.opob import OPOB
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "J2"

JOINS = {"OA": Tactic, "OPIB": OPIB, "OPOB": OPOB}


def run(quick: bool, seed: int) -> Outcome:
    windows = (1, 3, 5) if quick else (1, 3, 5, 7, 9)
    links = conversations(RATE, 12 if quick else 40, seed)
    costs = {name: [run_join(build, links, n) for n in windows] for name, build in JOINS.items()}
    memory = {name: [cost.peak_bytes / 1e6 for cost in found] for name, found in costs.items()}
    oa, opib, opob = memory.values()
    return Outcome(
        tables=(
            Table(
                "MB at most",
                ("n in s", *JOINS),
                tuple((n, *(memory[name][i] for name in JOINS)) for i, n in enumerate(windows)),
            ),
        ),
        plots=(
            Plot(
                "Memory",
                "window in s",
                "MB at most",
                {name: list(zip(windows, memory[name], strict=True)) for name in JOINS},
            ),
        ),
        checks=(
            Check(
                "all give as many results",
                len({tuple(c.results for c in found) for found in costs.values()}) == 1,
                str([c.results for c in costs["OA"]]),
            ),
            Check(
                "OA-Join holds less than OPIB-Join at every window",
                all(a < b for a, b in zip(oa, opib, strict=True)),
                ", ".join(f"{b / a:.2f}x" for a, b in zip(oa, opib, strict=True)),
            ),
            Check(
                "OPIB-Join holds far less than OPOB-Join",
                all(2 * a < b for a, b in zip(opib, opob, strict=True)),
                ", ".join(f"{b / a:.1f}x" for a, b in zip(opib, opob, strict=True)),
            ),
        ),
    )
