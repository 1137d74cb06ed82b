"""Joins change while the machine cannot keep up: whatever changes them, it pays.

Four streams at 20 rows a second, W = 2 s, selectivities of 0.2, 0.05 and 0.05; after 10 s the join
goes from left-deep to right-deep. So many rows are nothing for today's machine, so time is that of
one that takes as long for each row that joins read and find that the old joins alone need half as
much time again as their streams. Published: everything beats the old joins alone by far; parallel
tracks have fewer intermediate rows and more results at first, while moving state is silent for some
10 s; but its run ends earlier.  Spec: dynamic-optimization 5.2, E12.
"""

from __future__ import annotations

import itertools

from _migrations import CASES, Moment, Setting, history

from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "E12"

SETTING = Setting(2000, (50.0, 50.0, 50.0, 50.0), (0.2, 0.05, 0.05))
AT = 10_000
#: By how much the old joins alone are overloaded.
LOAD = 1.5
#: How long after the change counts as at first, in ms.
FIRST = 2000


def run(quick: bool, seed: int) -> Outcome:
    until = 30_000 if quick else 50_000
    runs = {case: history(SETTING, seed, case, until, AT) for case in CASES}
    speed = sum(each.work for each in runs["old only"]) / (LOAD * until)  # rows in a ms
    served = {case: _served(found, speed) for case, found in runs.items()}
    ends = {case: found[-1][0] for case, found in served.items()}
    changed = {case: _changed(served[case]) for case in ("moving state", "parallel tracks")}
    silent = max(
        later - earlier for earlier, later in _gaps(served["moving state"], changed["moving state"])
    )
    at_first = {case: _within(served[case], at, at + FIRST) for case, at in changed.items()}
    stored = {case: _mean(runs[case]) for case in changed}
    slowest = max(end for case, end in ends.items() if case != "old only")
    recomputed = "what is missing is found by its keys"
    return Outcome(
        tables=(
            Table(
                f"on a machine that handles {speed:.2f} rows in a ms",
                ("case", "rows read and found", "ends at, ms", "results"),
                tuple(
                    (case, sum(m.work for m in runs[case]), ends[case], runs[case][-1].results)
                    for case in CASES
                ),
            ),
        ),
        plots=(
            Plot("Results", "ms", "rows", {case: list(found) for case, found in served.items()}),
            Plot(
                "Intermediate rows",
                "ms of the streams",
                "rows",
                {case: [(m.now, m.intermediate) for m in found] for case, found in runs.items()},
            ),
        ),
        checks=(
            Check(
                "all others end long before the old joins alone",
                slowest < 0.9 * ends["old only"],
                ", ".join(f"{case}: {end:,.0f} ms" for case, end in ends.items()),
            ),
            Check(
                "moving state ends before parallel tracks",
                ends["moving state"] < ends["parallel tracks"],
                f"{ends['moving state']:,.0f} against {ends['parallel tracks']:,.0f} ms",
            ),
            Check(
                "parallel tracks have fewer intermediate rows at first",
                stored["parallel tracks"] < stored["moving state"],
                ", ".join(f"{case}: {rows:,.0f} rows" for case, rows in stored.items()),
                known="both sets of joins store rows until the old ones go, and moving state is at "
                "the new joins' level at once",
            ),
            Check(
                "and put out more at first",
                at_first["parallel tracks"] > at_first["moving state"],
                ", ".join(f"{case}: {rows:,} results" for case, rows in at_first.items()),
                known=f"{recomputed}, so moving takes less than the old joins take for the rows of "
                "one second, and then has the better joins",
            ),
            Check(
                "moving state is silent for about 10 s",
                5000 <= silent <= 15_000,
                f"for {silent:,.0f} ms",
                known=f"{recomputed}: a few hundred rows, not by comparing all rows of a window",
            ),
        ),
    )


def _served(found: list[Moment], speed: float) -> list[tuple[float, int]]:
    """When the machine has done what came with each moment, and the results by then."""
    busy, done = 0.0, []
    for each in found:
        busy = max(busy, each.now) + each.work / speed
        done.append((busy, each.results))
    return done


def _changed(served: list[tuple[float, int]]) -> float:
    """When the rows before the change were done: then it begins."""
    before: int = AT // (SETTING.window // 10) - 2
    return served[before][0]


def _gaps(served: list[tuple[float, int]], since: float) -> list[tuple[float, float]]:
    """The times from one result to the next, around a moment."""
    times = [time for time, _ in served if since - 1 <= time <= since + 20_000]
    return list(itertools.pairwise(times))


def _within(served: list[tuple[float, int]], begin: float, end: float) -> int:
    """Results between two times."""
    before = max((results for time, results in served if time <= begin), default=0)
    return max((results for time, results in served if time <= end), default=0) - before


def _mean(found: list[Moment]) -> float:
    """Intermediate rows at first."""
    rows: list[int] = [each.intermediate for each in found if AT <= each.now < AT + FIRST]
    return sum(rows) / len(rows)
