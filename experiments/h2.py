"""In-order joins against the cost of a pair: Adaptive switches where c w l1 l2 = alpha.

w = 1 minute, l1 = 1/s, l2 = 10/s, alpha = 0.3, on a virtual clock. Published: Sync-Filter worst and
rising, Filter-Order flat, Adaptive switching at c = 0.5 ms.  Spec: ordered-joins 5, H2.
"""

from __future__ import annotations

from _ordered import ALGORITHMS, ALPHA, measured

from penstock.experimenting import Check, Outcome, Plot, Table

RATES = (1.0, 10.0)
#: Both streams' rows together keep the processor busy for 2 c w l1 l2 of the time.
COSTS = (1e-6, 1e-5, 1e-4, 3e-4, 4e-4, 6e-4)


def run(quick: bool) -> Outcome:
    seconds = 90 if quick else 600
    results = {name: {c: measured(name, RATES, c, seconds) for c in COSTS} for name in ALGORITHMS}
    times = {name: [results[name][c][0] for c in COSTS] for name in ALGORITHMS}
    sync, order, adaptive = (times[name] for name in ALGORITHMS)
    loads = [c * 60 * RATES[0] * RATES[1] for c in COSTS]
    switched = [results["Adaptive"][c][1] for c in COSTS]
    rows = tuple(
        (c * 1000, load, *(times[name][place] for name in ALGORITHMS), str(switched[place]))
        for place, (c, load) in enumerate(zip(COSTS, loads, strict=True))
    )
    worst = max(a / min(s, o) for a, s, o in zip(adaptive, sync, order, strict=True))
    chosen = [o if load >= ALPHA else s for load, s, o in zip(loads, sync, order, strict=True)]
    apart = max(abs(a / t - 1) for a, t in zip(adaptive, chosen, strict=True))
    return Outcome(
        tables=(
            Table(
                "average response in s",
                ("c in ms", "c w l1 l2", *ALGORITHMS, "orders output"),
                rows,
            ),
        ),
        plots=(
            Plot(
                "Response time",
                "cost of a pair in ms",
                "average response in s",
                {
                    name: [(c * 1000, t) for c, t in zip(COSTS, times[name], strict=True)]
                    for name in ALGORITHMS
                },
                log_x=True,
            ),
        ),
        checks=(
            Check(
                "Sync-Filter rises with the cost, Filter-Order stays flat",
                sync[-1] > 1.2 * sync[0] and order[-1] < 1.1 * order[0],
                f"{sync[0]:.2f} to {sync[-1]:.2f} s against {order[0]:.2f} to {order[-1]:.2f} s",
            ),
            Check(
                "Adaptive switches where c w l1 l2 passes alpha",
                switched == [load >= ALPHA for load in loads],
                ", ".join(f"{load:.2g}: {s}" for load, s in zip(loads, switched, strict=True)),
            ),
            Check(
                "Adaptive stays within 10 % of the one that alpha prescribes, on both sides",
                apart <= 0.1,
                f"at most {apart:.1%} from it",
            ),
            Check(
                "so it is never worse than the better one by more than alpha lets go: 1 + alpha",
                worst <= 1.05 * (1 + ALPHA),
                f"at most {worst:.2f} times the better one",
            ),
        ),
    )
