"""The highest rate without loss of a two-level aggregate, by how its table is flushed.

Q8-1: packets per source and destination in windows of a minute, for four numbers of groups and
tables of half, once and twice as many slots. Published: about equal with 66K groups; with 260K, out
of order 1.9 to 2 times the rate of in order, whose processor is then half idle: when two new
aggregates collide all old ones must go first, and that surge overruns the ring buffer.

These are the operators of this system behind a ring of one size (see `_gigascope`), in processor
time. In order the surge is there, as large as published: all groups of a window in one block. But
the low level puts its aggregates out as a block too, each at a small part of what a packet takes;
so a surge is soon over and overruns nothing.  Spec: window-queries 8, G1, Tab 8-1.
"""

from __future__ import annotations

import numpy as np
from _gigascope import RING, STEP, Work, highest_rate, measure

from penstock.kernel.aggregation.two_level.flush import IN_ORDER, LAZY, SLOW, Flush
from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "G1"

#: m = 2, and i = 160 where aggregates leave by themselves.
POLICIES = {"IOP": Flush(IN_ORDER), "OOP": Flush(LAZY, 2), "OOP(sf)": Flush(SLOW, 2, 160)}
GROUPS = (66_000, 130_000, 260_000, 520_000)
SIZES = {"½": 0.5, "1": 1.0, "2": 2.0}
SMALL, LARGE = 66_000, 260_000
REPEATS = 5


def run(quick: bool, seed: int) -> Outcome:
    groups = (SMALL, LARGE) if quick else GROUPS
    sizes = {"2": 2.0} if quick else SIZES
    scale = 16 if quick else 8
    work = {
        (name, size, count): found
        for size, factor in sizes.items()
        for count in groups
        for name, found in measure(
            POLICIES, count, int(count * factor), scale, seed, REPEATS
        ).items()
    }
    rates = {key: highest_rate(each, RING // scale) for key, each in work.items()}
    shares = {key: work[key].busy(rate) for key, rate in rates.items()}

    def table(title: str, values: dict[tuple[str, str, int], float]) -> Table:
        columns = ("groups", *(f"{name}-{size}" for size in sizes for name in POLICIES))
        rows: list[tuple[str | float, ...]] = [
            (f"{n // 1000}K", *(values[name, size, n] for size in sizes for name in POLICIES))
            for n in groups
        ]
        return Table(title, columns, tuple(rows))

    def gain(count: int) -> float:
        """The lesser gain of the two."""
        slower = min(rates[name, "2", count] for name in ("OOP", "OOP(sf)"))
        return float(slower / rates["IOP", "2", count])

    surge, packets = surge_in_packets(work["IOP", "2", LARGE])
    because = (
        f"a surge of {surge * scale:,} aggregates takes our low level as long as "
        f"{packets * scale:,.0f} packets, and the ring holds {RING:,}: it is put out as one block"
    )
    scaled = f"groups, slots, ring / {scale}"
    return Outcome(
        tables=(
            table(
                f"highest rate without loss, ring of {RING:,} packets, by {STEP:,} ({scaled})",
                rates,
            ),
            table("share of time busy at that rate", shares),
        ),
        plots=(
            Plot(
                "Highest rate without loss, twice as many slots as groups",
                "groups",
                "packets/s",
                {name: [(n, rates[name, "2", n]) for n in groups] for name in POLICIES},
            ),
        ),
        checks=(
            Check(
                "with 66K groups all are about equal",
                0.8 <= gain(SMALL) <= 1.25,
                f"out of order {gain(SMALL):.2f} times the rate of in order",
            ),
            Check(
                "with 260K groups out of order takes 1.9 times the rate of in order or more",
                gain(LARGE) >= 1.9,
                f"{gain(LARGE):.2f} times",
                known=because,
            ),
            Check(
                "surges, not the processor, limit in order: at 260K groups it is busy 56 % of the "
                "time, and the others 95 %",
                shares["IOP", "2", LARGE] <= 0.6
                and min(shares[name, "2", LARGE] for name in ("OOP", "OOP(sf)")) >= 0.9,
                ", ".join(f"{name} {shares[name, '2', LARGE]:.0%}" for name in POLICIES),
                known=because,
            ),
        ),
    )


def surge_in_packets(work: Work) -> tuple[int, float]:
    """Aggregates of the largest surge, and how many packets could be worked off in that time."""
    usual = float(np.median(work.took))
    return int(work.put_out[work.surge]), work.block * (work.took[work.surge] - usual) / usual
