"""How long a change of joins takes by the rate of one input: parallel tracks as long, moving state
longer.

W = 1 s, A, C and D at 20 rows a second, B from 10 to 80. Published: the time of parallel tracks is
flat in the rate of B, that of moving state grows.  Spec: dynamic-optimization 3.4, 5.2, E9.
"""

from __future__ import annotations

import itertools

from _migrations import Setting, moving_state, parallel_track

from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "E9"

WINDOW, SELECTIVITIES = 1000, (0.1, 0.05, 0.02)
RATES = (10, 20, 40, 80)


def run(quick: bool, seed: int) -> Outcome:
    rates = RATES[1:] if quick else RATES
    settings = {r: Setting(WINDOW, (50.0, 1000 / r, 50.0, 50.0), SELECTIVITIES) for r in rates}
    tracks = {r: parallel_track(each, seed, published=True) for r, each in settings.items()}
    # Many windows of rows, so that what is computed is more than chance.
    moved = {
        r: moving_state(Setting(20 * WINDOW, each.intervals, SELECTIVITIES), seed)
        for r, each in settings.items()
    }
    counts = [rows for _, rows in moved.values()]
    return Outcome(
        tables=(
            Table(
                "by the rate of B",
                ("rows a second", "tracks in ms", "moving in ms, W = 20 s", "rows computed"),
                tuple((r, tracks[r], *moved[r]) for r in rates),
            ),
        ),
        plots=(
            Plot(
                "Rows computed by moving state",
                "rows of B a second",
                "rows",
                {"right-deep": [(r, rows) for r, (_, rows) in moved.items()]},
            ),
        ),
        checks=(
            Check(
                "parallel tracks are flat in the rate of B",
                max(tracks.values()) <= 1.25 * min(tracks.values()),
                ", ".join(f"{r}/s: {tracks[r]:.0f} ms" for r in rates),
            ),
            Check(
                "moving state grows with the rate of B",
                all(a < b for a, b in itertools.pairwise(counts)),
                ", ".join(f"{r}/s: {rows:,} rows" for r, rows in zip(rates, counts, strict=True)),
            ),
        ),
    )
