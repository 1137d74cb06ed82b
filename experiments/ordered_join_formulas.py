"""Sync-Filter against Filter-Order by the formulas: the gain approaches a half at saturation.

    Sync-Filter    1/l1 - (n - 1)/(2 l2) + (n + 1)/2 * c w l1
    Filter-Order   1/l1 - (n - 1)/(2 l2)

with n = l2/l1. Relative gain: x/(1 + x) with x = c w l1 l2, and the join keeps up while x < 1.
Nothing is drawn at random.  Spec: ordered-joins 4, H1.
"""

from __future__ import annotations

import itertools

from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "H1"

DAY = 86_400.0


def run(quick: bool, seed: int) -> Outcome:
    by_cost = [(c, gain(c, DAY, 1.0, 10.0)) for c in costs()]
    by_rate = [(l1, gain(1e-4, DAY, l1, 10 * l1)) for l1 in rates()]
    saturated = [
        gain(1 / (DAY * 1.0 * 10.0), DAY, 1.0, 10.0),
        gain(1e-4, DAY, (1 / (1e-4 * DAY * 10)) ** 0.5, 10 * (1 / (1e-4 * DAY * 10)) ** 0.5),
    ]
    return Outcome(
        tables=(
            Table("gain against the cost of a pair", ("c in s", "gain"), tuple(by_cost)),
            Table("gain against the slower rate", ("l1 per s", "gain"), tuple(by_rate)),
        ),
        plots=(
            Plot("Gain of Filter-Order", "c in s", "relative gain", {"gain": by_cost}, log_x=True),
            Plot("Gain of Filter-Order", "l1", "relative gain", {"gain": by_rate}, log_x=True),
        ),
        checks=(
            Check(
                "the formulas agree: (sync - filter) / sync = x / (1 + x)",
                all(
                    abs(g - x / (1 + x)) < 1e-9 for c, g in by_cost for x in [c * DAY * 1.0 * 10.0]
                ),
                f"{len(by_cost)} costs",
            ),
            Check(
                "the gain rises with the cost, below a half while the join keeps up",
                all(a < b for (_, a), (_, b) in itertools.pairwise(by_cost))
                and by_cost[-1][1] < 0.5,
                f"{by_cost[0][1]:.4f} to {by_cost[-1][1]:.3f} at the last doubling",
            ),
            Check(
                "the gain rises with the rate, below a half while the join keeps up",
                all(a < b for (_, a), (_, b) in itertools.pairwise(by_rate))
                and by_rate[-1][1] < 0.5,
                f"{by_rate[0][1]:.2g} to {by_rate[-1][1]:.3f} at 0.1 per s",
            ),
            Check(
                "it approaches a half as the system saturates: c w l1 l2 = 1",
                all(abs(g - 0.5) < 1e-9 for g in saturated),
                ", ".join(f"{g:.6f}" for g in saturated),
            ),
        ),
    )


def costs() -> list[float]:
    """From 0.01 microseconds, doubling while the join keeps up."""
    found, c = [], 1e-8
    while c * DAY * 10 < 1:
        found.append(c)
        c *= 2
    return found


def rates() -> list[float]:
    """From 0.0001 to 0.1, three to the decade; a pair costs 0.1 ms, and l2 = 10 l1.

    With l2 = 10 l1 the join keeps up over the whole published range, as it does in the work.
    """
    return [10 ** (step / 3 - 4) for step in range(10)]


def gain(c: float, w: float, l1: float, l2: float) -> float:
    """How much shorter Filter-Order's average response is."""
    n = l2 / l1
    order = 1 / l1 - (n - 1) / (2 * l2)
    sync = order + (n + 1) / 2 * c * w * l1
    return (sync - order) / sync
