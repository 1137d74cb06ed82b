"""In-order joins against the cost of a pair: Adaptive switches where c w l1 l2 = alpha.

w = 1 minute, l1 = 1/s, l2 = 10/s, c from 1 microsecond to 1 ms, on a virtual clock, with two
thresholds: the published alpha = 0.3, and the one that Penstock uses.
Published: Sync-Filter worst and rising, Filter-Order flat, Adaptive switching at c = 0.5 ms, where
the gain is about 45 % and not the 25 % that the analysis predicts. Asked besides: that Adaptive is
never more than 10 % above the better of the two.

Below alpha Adaptive is Sync-Filter, for its smaller memory, and by the analysis its response is
then 1 + c w l1 l2 times that of Filter-Order: alpha is what it gives away at most. So the published
alpha cannot stay within 10 % of the better of the two (the last column of the first table says by
how much it misses that), and the smaller one can. With exponential inter-arrival times rows wait in
larger heaps than in the analysis: at 0.24 Sync-Filter takes 1.3 times as long, not 1.24.
Spec: ordered-joins 4 to 6, H2.
"""

from __future__ import annotations

from itertools import pairwise

from _ordered import ALGORITHMS, ALPHA, Measured, measured

from penstock.lab.experimenting import Check, Outcome, Plot, Table
from penstock.optimizer.options import Options

ALIAS = "H2"

SMALL_ALPHA = Options().join_alpha
RATES = (1.0, 10.0)
#: Switches are expected at 0.5 ms, and at 0.083 ms with the small alpha.
COSTS = (1e-6, 1e-5, 4e-5, 8e-5, 1e-4, 2e-4, 3e-4, 4e-4, 6e-4, 8e-4, 1e-3)
SWITCH = 5e-4
#: So near to alpha the rates that happen to come decide, not those they are drawn with.
NEARBY = 0.1
LOADS = tuple(c * 60 * RATES[0] * RATES[1] for c in COSTS)


def run(quick: bool, seed: int) -> Outcome:
    seconds = 120 if quick else 1200
    sync, order, adaptive = (
        [measured(name, RATES, c, seconds, seed) for c in COSTS] for name in ALGORITHMS
    )
    eager = [measured("Adaptive", RATES, c, seconds, seed, SMALL_ALPHA) for c in COSTS]
    slowest, fastest = _times(sync), _times(order)
    at_switch = [measured(name, RATES, SWITCH, seconds, seed).response for name in ALGORITHMS[:2]]
    gain = 1 - at_switch[1] / at_switch[0]
    predicted = ALPHA / (1 + ALPHA)
    better = [min(both) for both in zip(slowest, fastest, strict=True)]
    lost = {
        alpha: [a / b for a, b in zip(_times(runs), better, strict=True)]
        for alpha, runs in ((ALPHA, adaptive), (SMALL_ALPHA, eager))
    }
    return Outcome(
        tables=(
            _table(ALPHA, slowest, fastest, adaptive, lost[ALPHA]),
            _table(SMALL_ALPHA, slowest, fastest, eager, lost[SMALL_ALPHA]),
        ),
        plots=(
            Plot(
                "Response time",
                "cost of a pair in ms",
                "average response in s",
                {
                    name: [(c * 1000, t) for c, t in zip(COSTS, times, strict=True)]
                    for name, times in (
                        ("Sync-Filter", slowest),
                        ("Filter-Order", fastest),
                        (f"Adaptive, alpha {ALPHA}", _times(adaptive)),
                        (f"Adaptive, alpha {SMALL_ALPHA}", _times(eager)),
                    )
                },
                log_x=True,
            ),
        ),
        checks=(
            Check(
                "Sync-Filter is the worst and rises with the cost, Filter-Order stays flat",
                all(a < b for a, b in pairwise(slowest))
                and slowest[-1] > 1.2 * slowest[0]
                and all(s >= o for s, o in zip(slowest, fastest, strict=True))
                and fastest[-1] < 1.1 * fastest[0],
                f"{slowest[0]:.2f} to {slowest[-1]:.2f} s against "
                f"{fastest[0]:.2f} to {fastest[-1]:.2f} s",
            ),
            _switches(ALPHA, adaptive),
            Check(
                f"where it switches ({SWITCH * 1000:g} ms) the gain is about 45 %",
                0.4 <= gain <= 0.5,
                f"{gain:.0%}; the analysis predicts {predicted:.0%}",
                known="our clock charges what the analysis charges, c w l1 for each row, so its "
                "gain comes out, and somewhat more, because arrivals are exponential; what else "
                "the published run charged is not stated",
            ),
            Check(
                f"Adaptive with alpha {ALPHA} stays within 10 % of the better of the two",
                max(lost[ALPHA]) <= 1.1,
                f"at most {max(lost[ALPHA]):.2f} times the better one",
                known="below alpha Adaptive is Sync-Filter, which by the analysis takes "
                f"1 + c w l1 l2 times as long as Filter-Order: up to {1 + ALPHA:g} times",
            ),
            _prescribed(ALPHA, slowest, fastest, adaptive),
            _switches(SMALL_ALPHA, eager),
            Check(
                f"Adaptive with our alpha of {SMALL_ALPHA} does stay within 10 %",
                max(lost[SMALL_ALPHA]) <= 1.1,
                f"at most {max(lost[SMALL_ALPHA]):.2f} times the better one",
            ),
        ),
    )


def _times(runs: list[Measured]) -> list[float]:
    return [one.response for one in runs]


def _table(
    alpha: float,
    sync: list[float],
    order: list[float],
    adaptive: list[Measured],
    lost: list[float],
) -> Table:
    return Table(
        f"average response in s, alpha {alpha}",
        ("c in ms", "c w l1 l2", "estimated", *ALGORITHMS, "orders output", "to better"),
        tuple(
            (c * 1000, load, one.load, s, o, one.response, one.ordering_output, times)
            for c, load, s, o, one, times in zip(
                COSTS, LOADS, sync, order, adaptive, lost, strict=True
            )
        ),
    )


def _switches(alpha: float, runs: list[Measured]) -> Check:
    shares = [one.ordering_output for one in runs]
    return Check(
        f"Adaptive switches where c w l1 l2 passes alpha = {alpha}",
        all(
            (s > 0.5) == (load >= alpha)
            for s, load in zip(shares, LOADS, strict=True)
            if abs(load / alpha - 1) > NEARBY
        ),
        ", ".join(f"{load:.2g}: {s:.0%}" for load, s in zip(LOADS, shares, strict=True)),
    )


def _prescribed(alpha: float, sync: list[float], order: list[float], runs: list[Measured]) -> Check:
    chosen = [o if load >= alpha else s for load, s, o in zip(LOADS, sync, order, strict=True)]
    apart = max(abs(one.response / t - 1) for one, t in zip(runs, chosen, strict=True))
    return Check(
        f"Adaptive stays within 10 % of the one that alpha = {alpha} prescribes, on both sides",
        apart <= 0.1,
        f"at most {apart:.1%} from it",
    )
