"""The highest rate without loss of a two-level aggregate, by how its table is flushed.

Q8-1: packets per source and destination in windows of a minute, for four numbers of groups and
tables of half, once and twice as many slots. Published: about equal with 66K groups; with 260K out
of order 1.9 to 2 times the rate of in order, whose processor is then half idle: when two new
aggregates collide all old ones must go first, and that surge overruns the ring buffer.

Simulated in virtual time with stated costs (see `_gigascope`), so rates are those of the stated
costs. How large the published ring was is not known, and the factor depends on it: a surge of g
aggregates lets g packets wait. So it is varied.  Spec: window-queries 8, G1, Tab 8-1.
"""

from __future__ import annotations

from _gigascope import (
    COSTS,
    RINGS,
    SCALE,
    highest_rate,
    iop_slow_flush,
    oop_lazy_flush,
    oop_slow_flush,
)

from penstock.experimenting import Check, Outcome, Plot, Table

POLICIES = {"IOP": iop_slow_flush, "OOP": oop_lazy_flush, "OOP(sf)": oop_slow_flush}
GROUPS = (66_000, 130_000, 260_000, 520_000)
SIZES = {"½": 0.5, "1": 1.0, "2": 2.0}
SMALL, LARGE = 66_000, 260_000
STATED = f"{COSTS} µs a packet, output, look; counts / {SCALE}"


def run(quick: bool) -> Outcome:
    groups = (SMALL, LARGE) if quick else GROUPS
    sizes = {"2": 2.0} if quick else SIZES
    step = 40_000 if quick else 10_000
    found = {
        (name, size, count, ring): highest_rate(policy, count, int(count * factor), ring, step)
        for name, policy in POLICIES.items()
        for size, factor in sizes.items()
        for count in groups
        for ring in RINGS
    }

    def table(title: str, ring: int, place: int) -> Table:
        columns = ("groups", *(f"{name}-{size}" for size in sizes for name in POLICIES))
        rows = tuple(
            (
                f"{count // 1000}K",
                *(round(found[n, s, count, ring][place], 3) for s in sizes for n in POLICIES),
            )
            for count in groups
        )
        return Table(title, columns, rows)

    def ratio(count: int, ring: int) -> float:
        """The lesser gain of the two."""
        slower = min(found[name, "2", count, ring][0] for name in ("OOP", "OOP(sf)"))
        return float(slower / found["IOP", "2", count, ring][0])

    gains = {ring: (ratio(SMALL, ring), ratio(LARGE, ring)) for ring in RINGS}
    written = "; ".join(f"ring {r}: {few:.2f}x, {many:.2f}x" for r, (few, many) in gains.items())
    longest = max(RINGS)
    busy = {name: found[name, "2", LARGE, longest][1] for name in POLICIES}
    return Outcome(
        tables=(
            *(
                table(f"highest rate without loss, ring of {ring} packets ({STATED})", ring, 0)
                for ring in RINGS
            ),
            table(f"share of time busy at that rate, ring of {longest}", longest, 1),
        ),
        plots=(
            Plot(
                f"Highest rate without loss, ring of {RINGS[1]}, twice as many slots as groups",
                "groups",
                "packets/s",
                {
                    name: [(count, found[name, "2", count, RINGS[1]][0]) for count in groups]
                    for name in POLICIES
                },
            ),
        ),
        checks=(
            Check(
                "with 66K groups all are about equal, if the ring holds a surge of that many",
                0.8 <= gains[longest][0] <= 1.25,
                f"ring {longest}: {gains[longest][0]:.2f}x",
            ),
            Check(
                "with 260K groups out of order takes a higher rate, whatever the ring",
                all(many >= 1.2 for _, many in gains.values()),
                written,
            ),
            Check(
                "the gain grows with the number of groups, and a ring of some size gives the "
                "published factor of 1.9 to 2",
                all(many > few for few, many in gains.values())
                and min(many for _, many in gains.values())
                <= 2.0
                <= max(many for _, many in gains.values()),
                written,
            ),
            Check(
                "surges, not the processor, limit in order: it is idle where the others are not",
                busy["IOP"] <= 0.75 and min(busy["OOP"], busy["OOP(sf)"]) >= 0.9,
                ", ".join(f"{name} {share:.0%} busy" for name, share in busy.items()),
            ),
        ),
    )
