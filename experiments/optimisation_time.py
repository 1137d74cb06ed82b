"""How long looking for a join's plan takes, by the number of streams.

The settings of `qualified_percentage.py`, processor time, mean of all settings. Published: both
strategies take polynomial time; the exhaustive search exponential time, and far more already for
few streams. That both take less than 50 ms for 20 streams is our own claim: they run while queries
are declared. The exhaustive search is asked up to 6 streams. A query's search goes on when a plan
qualifies, and compares all that it finds; what that takes is in the table, too.
Spec: dynamic-optimization 5.1, E6.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable

from _join_settings import Setting, qualified, settings

from penstock.lab.experimenting import Check, Outcome, Plot, Table
from penstock.optimizer.joins.exhaustive import whole_plans
from penstock.optimizer.joins.pareto import Limits
from penstock.optimizer.joins.strategy import bjtree_init, choose_shape, mjoin_init

ALIAS = "E6"


def run(quick: bool, seed: int) -> Outcome:
    counts = (3, 5, 10, 20) if quick else tuple(range(3, 21))
    tried, up_to = (15, 5) if quick else (100, 6)
    ways: dict[str, Callable[[Setting], object]] = {
        "mjoin-init": lambda each: qualified(mjoin_init(each.trees, each.limits), each.limits),
        "bjtree-init": lambda each: qualified(bjtree_init(each.trees, each.limits), each.limits),
    }
    measured = {
        name: [(n, mean_ms(way, [*settings(n, tried, seed)])) for n in counts]
        for name, way in ways.items()
    }
    # All plans, as where none qualifies.
    measured["exhaustive"] = [
        (n, mean_ms(every_plan, [*settings(n, min(tried, 10), seed)])) for n in range(3, up_to + 1)
    ]
    measured["of a query"] = [
        (n, mean_ms(as_declared, [*settings(n, tried, seed)])) for n in counts
    ]
    times = {name: dict(line) for name, line in measured.items()}
    powers = {name: math.log(times[name][20] / times[name][10]) / math.log(2) for name in ways}
    steps = [b / a for (_, a), (_, b) in itertools.pairwise(measured["exhaustive"])]
    slower = times["exhaustive"][up_to] / max(times[name][up_to] for name in ways)
    rows = tuple((n, *(line.get(n) for line in times.values())) for n in counts)
    return Outcome(
        tables=(Table("milliseconds", ("streams", *times), rows),),
        plots=(
            Plot(
                "Optimisation time",
                "streams",
                "ms",
                {k: [*v] for k, v in measured.items()},
                log_y=True,
            ),
        ),
        checks=(
            *(
                Check(
                    f"{name} takes polynomial time: at most the fourth power of the streams",
                    power < 4.5,
                    f"from 10 to 20 streams by the power {power:.1f}",
                )
                for name, power in powers.items()
            ),
            Check(
                "the exhaustive search takes exponential time: every stream multiplies it",
                all(step > 3 for step in steps),
                f"times {', '.join(f'{step:.1f}' for step in steps)}",
            ),
            Check(
                "it is far slower already for few streams: five times and more",
                slower > 5,
                f"{slower:.0f} times for {up_to} streams",
            ),
            *(
                Check(
                    f"{name} takes less than 50 ms for 20 streams",
                    times[name][20] < 50,
                    f"{times[name][20]:.0f} ms",
                )
                for name in ways
            ),
        ),
    )


def mean_ms(search: Callable[[Setting], object], settings: list[Setting]) -> float:
    """Processor time of a search."""
    start = time.process_time()
    for each in settings:
        search(each)
    return (time.process_time() - start) * 1e3 / len(settings)


def as_declared(setting: Setting) -> object:
    return choose_shape(setting.trees, setting.limits)


def every_plan(setting: Setting) -> int:
    return sum(1 for _ in whole_plans(setting.trees, Limits()))
