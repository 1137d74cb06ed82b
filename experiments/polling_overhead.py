"""What it costs to watch joins whose selectivities stay: next to nothing.

Three streams at 20 rows a second, windows of 5 s, selectivities of 0.02 and 0.3 that stay, and the
better one below from the beginning. Published: with an optimiser that is asked every 10 s, and that
never finds anything better, throughput is almost the same as without: here that is less than 2 %.
Ours is asked whenever a window is over. `adapt = on` is compared with `off`, under which joins are
measured just the same, for EXPLAIN LIVE, and with joins that nobody measures. All run several times
over the same rows, and of every second the quickest run counts: one that something else has
disturbed says nothing of a difference so small.
Spec: dynamic-optimization 5.2, E13.
"""

from __future__ import annotations

from unittest import mock

from _adapting_joins import AdaptingRun, begun, swapping
from _adapting_joins import run as run_all

from penstock.lab.experimenting import Check, Outcome, Table
from penstock.runtime.measuring import Measuring

ALIAS = "E13"

RATE, SHARES = 20, (0.02, 0.3)
#: Seconds that pass before anything counts, and how often all run.
WARM_UP, RUNS = 20, 3


def run(quick: bool, seed: int) -> Outcome:
    seconds = 120 if quick else 600
    rounds = [_round(seconds, seed) for _ in range(1 if quick else RUNS)]
    runs = rounds[0]
    spent = {
        name: sum(map(min, zip(*(each[name].busy[WARM_UP:] for each in rounds), strict=True)))
        for name in runs
    }
    changes = [change for each in rounds for change in each["adapt = on"].changes]
    polling, measuring = (
        spent["adapt = on"] / spent[name] - 1 for name in ("adapt = off", "not measured")
    )
    return Outcome(
        tables=(
            Table(
                "processor time in s",
                ("", "s", "results"),
                tuple((name, spent[name], _results(each)) for name, each in runs.items()),
            ),
        ),
        checks=(
            Check("the plan stays", not changes, f"{len(changes)} changes"),
            Check(
                "throughput with and without the optimiser is almost the same: below 2 %",
                polling < 0.02,
                f"{polling:.1%} of the time",
            ),
            Check(
                "and so it is with what is measured for it",
                measuring < 0.02,
                f"{measuring:.1%} of the time",
                known="conditions that are no keys are tried on up to 8,192 combinations of rows "
                "of a window, however few come: some 2.5 ms where the joins take 60",
            ),
        ),
    )


def _round(seconds: int, seed: int) -> dict[str, AdaptingRun]:
    """Three engines over the same rows."""
    watched, unwatched = begun("SET adapt = on"), begun("SET adapt = off")
    with mock.patch.object(Measuring, "follow", lambda self, queries, plans: None):
        unmeasured = begun("SET adapt = off")
    runs = {"adapt = on": watched, "adapt = off": unwatched, "not measured": unmeasured}
    run_all([*runs.values()], RATE, swapping(SHARES, ()), seconds, seed)
    return runs


def _results(each: AdaptingRun) -> int:
    return sum(each.results[WARM_UP:])
