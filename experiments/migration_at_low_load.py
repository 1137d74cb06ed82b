"""Joins change while the machine has time to spare: moving state is at the new level at once.

Four streams at 10 rows a second, W = 1 s, selectivities of 0.1, 0.02 and 0.02; after 10 s the join
goes from left-deep to right-deep, by moving state or by parallel tracks with the published monitor,
beside runs of each shape alone. Published: stored rows that are results of joins come down to the
level of the new joins sooner by moving state, both get there, and neither puts out more than the
other.  Spec: dynamic-optimization 5.2, E11.
"""

from __future__ import annotations

from _migrations import CASES, Moment, Setting, history

from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "E11"

SETTING = Setting(1000, (100.0, 100.0, 100.0, 100.0), (0.1, 0.02, 0.02))
AT = 10_000
#: Counts this small differ by some rows between one moment and the next.
CHANCE = 5


def run(quick: bool, seed: int) -> Outcome:
    until = 16_000 if quick else 50_000
    runs = {case: history(SETTING, seed, case, until, AT) for case in CASES}
    new = {each.now: each.intermediate for each in runs["new only"]}
    reached = {case: _reached(runs[case], new) - AT for case in ("moving state", "parallel tracks")}
    last = {case: [m.intermediate for m in runs[case][-10:]] for case in CASES}
    ahead = max(
        abs(one.results - other.results)
        for one, other in zip(runs["moving state"], runs["parallel tracks"], strict=True)
    )
    shown = [AT - 100, AT, AT + 500, AT + 1000, AT + 1500, AT + 2000, AT + 2500, until]
    return Outcome(
        tables=(
            Table(
                "rows of results of joins that are stored",
                ("ms", *CASES),
                tuple(
                    (now, *(_at(runs[case], now).intermediate for case in CASES)) for now in shown
                ),
            ),
            Table(
                "results so far",
                ("ms", *CASES),
                tuple((now, *(_at(runs[case], now).results for case in CASES)) for now in shown),
            ),
        ),
        plots=(
            Plot(
                "Intermediate rows",
                "ms",
                "rows",
                {case: [(m.now, m.intermediate) for m in found] for case, found in runs.items()},
            ),
            Plot(
                "Results",
                "ms",
                "rows",
                {case: [(m.now, m.results) for m in found] for case, found in runs.items()},
            ),
        ),
        checks=(
            Check(
                "moving state is at the new joins' level before parallel tracks",
                reached["moving state"] < reached["parallel tracks"],
                ", ".join(
                    f"{case}: {after} ms after the change" for case, after in reached.items()
                ),
            ),
            Check(
                "both converge to it",
                last["moving state"] == last["parallel tracks"] == last["new only"],
                f"in the last window all three store {last['new only']} rows",
            ),
            Check(
                "neither puts out more than the other",
                ahead <= 0.05 * runs["new only"][-1].results,
                f"at no time is one ahead by more than {ahead} results",
            ),
        ),
    )


def _reached(found: list[Moment], new: dict[int, int]) -> int:
    """From when on no more is stored than the new joins store alone, but for chance."""
    above = [m.now for m in found if m.now >= AT and m.intermediate > new[m.now] + CHANCE]
    return max(above, default=AT - 100) + 100


def _at(found: list[Moment], now: int) -> Moment:
    return next(each for each in found if each.now == now)
