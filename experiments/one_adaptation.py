"""One change of a plan by itself, when selectivities have swapped: more throughput, less memory.

Three streams at 100 rows a second, windows of 5 s, selectivities of 0.005 in the lower join and
0.02 in the upper one, which swap after 2 s. Published: the join changes once, after 10 s, and from
then on throughput is 40 to 50 % higher than without, and memory lower by half and more. The rates
of this experiment are not stated. Throughput is results for a second of processor time, as on a
processor that both plans keep busy; memory is counted in stored rows.
Spec: dynamic-optimization 5.2, E14.
"""

from __future__ import annotations

from _adapting_joins import WINDOW, AdaptingRun, begun, rows_stored, swapping
from _adapting_joins import run as run_all

from penstock.lab.experimenting import Check, Outcome, Table

ALIAS = "E14"

RATE, SHARES, SWAP = 100, (0.005, 0.02), 2


def measured(quick: bool, seed: int) -> dict[str, AdaptingRun]:
    """A query that adapts, and one that does not."""
    runs = {"adapts": begun("SET adapt = on"), "stays": begun("SET adapt = advise")}
    seconds = 60 if quick else 120
    run_all([*runs.values()], RATE, swapping(SHARES, (SWAP,)), seconds, seed)
    return runs


def run(quick: bool, seed: int) -> Outcome:
    runs = measured(quick, seed)
    changes = runs["adapts"].changes
    # The clock of the engine stands still; rows say what time it is.
    begin = _changed_at(runs["adapts"].stored, runs["stays"].stored) + 2 * WINDOW
    end = len(runs["adapts"].stored)
    throughput = {name: each.throughput(begin, end) for name, each in runs.items()}
    memory = {name: each.memory(begin, end) for name, each in runs.items()}
    gain = throughput["adapts"] / throughput["stays"] - 1
    less = 1 - memory["adapts"] / memory["stays"]
    return Outcome(
        tables=(
            Table(
                f"from {begin} s on",
                ("", "results/s of the processor", "rows stored"),
                tuple((name, throughput[name], memory[name]) for name in runs),
            ),
        ),
        plots=(rows_stored(runs),),
        checks=(
            Check("the join changes once", len(changes) == 1, "; ".join(map(str, changes))),
            Check("throughput is at least 40 % higher after it", gain >= 0.4, f"by {gain:.0%}"),
            Check("memory is at least 50 % lower", less >= 0.5, f"by {less:.0%}"),
            Check(
                "results are the same",
                runs["adapts"].results == runs["stays"].results,
                f"{sum(runs['stays'].results):,}",
            ),
        ),
    )


def _changed_at(stored: list[int], others: list[int]) -> int:
    """The second in which what is stored becomes different."""
    return next((n for n, (a, b) in enumerate(zip(stored, others, strict=True)) if a != b), 0)
