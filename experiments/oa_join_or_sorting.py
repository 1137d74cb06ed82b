"""OA-Join against OPOB-Join: what it costs to keep results in order by sorting them.

Q7-2's join of two ordered, synchronised links of 4000 rows a second, windows of n seconds.
Published: OA-Join clearly better in memory, latency and time, especially in the first two.
Spec: window-queries 6.5, 8, J1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from _memory import RATE, Cost, conversations, run_join

from penstock.kernel.joins.tactics.opob import OPOB
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "J1"

JOINS: dict[str, Callable[[], Tactic]] = {"OA": Tactic, "OPOB": OPOB}


def run(quick: bool, seed: int) -> Outcome:
    windows = (1, 3, 5) if quick else (1, 3, 5, 7, 9)
    links = conversations(RATE, 12 if quick else 40, seed)
    for build in JOINS.values():  # what is only needed once should not count
        run_join(build, conversations(RATE, 2, seed), 1)
    costs: dict[str, list[Cost]] = {name: [] for name in JOINS}
    for n in windows:
        # In turn, so that both see the same machine.
        runs = [
            {name: run_join(build, links, n) for name, build in JOINS.items()}
            for _ in range(4 if quick else 3)
        ]
        for name, found in costs.items():
            found.append(_best([by[name] for by in runs]))
    oa, opob = costs["OA"], costs["OPOB"]
    rows = tuple(
        (
            n,
            *(costs[name][place].peak_bytes / 1e6 for name in JOINS),
            *(costs[name][place].median_latency for name in JOINS),
            *(costs[name][place].seconds for name in JOINS),
        )
        for place, n in enumerate(windows)
    )
    columns = ("n in s", "OA MB", "OPOB MB", "OA latency s", "OPOB latency s", "OA s", "OPOB s")
    return Outcome(
        tables=(Table("OA-Join and OPOB-Join", columns, rows),),
        plots=tuple(
            Plot(
                title,
                "window in s",
                unit,
                {
                    name: [(n, value(costs[name][i])) for i, n in enumerate(windows)]
                    for name in JOINS
                },
            )
            for title, unit, value in (
                ("Memory", "MB at most", lambda cost: cost.peak_bytes / 1e6),
                ("Latency", "median, s of stream time", lambda cost: cost.median_latency),
                ("Time", "s", lambda cost: cost.seconds),
            )
        ),
        checks=(
            Check(
                "both give as many results",
                [c.results for c in oa] == [c.results for c in opob],
                str([c.results for c in oa]),
            ),
            Check(
                "OA-Join holds less at every window, and the more so the longer it is",
                all(a.peak_bytes < b.peak_bytes for a, b in zip(oa, opob, strict=True))
                and _ratio(oa, opob, -1) > _ratio(oa, opob, 0),
                ", ".join(f"{_ratio(oa, opob, i):.1f}x" for i in range(len(windows))),
            ),
            Check(
                "its results wait for nothing, OPOB-Join's for the window",
                all(
                    a.median_latency < 0.2 < n / 2 < b.median_latency
                    for n, a, b in zip(windows, oa, opob, strict=True)
                ),
                f"{oa[-1].median_latency:.2f} s against {opob[-1].median_latency:.2f} s",
            ),
            Check(
                "it takes less time at every window",
                all(a.seconds < b.seconds for a, b in zip(oa, opob, strict=True)),
                ", ".join(f"{b.seconds / a.seconds:.2f}x" for a, b in zip(oa, opob, strict=True)),
            ),
        ),
    )


def _best(runs: list[Cost]) -> Cost:
    """The least of several times; all else is the same in every run."""
    return replace(runs[0], seconds=min(run.seconds for run in runs))


def _ratio(oa: list[Cost], opob: list[Cost], place: int) -> float:
    return float(opob[place].peak_bytes / oa[place].peak_bytes)
