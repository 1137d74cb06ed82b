"""How long a change of joins takes by the window: parallel tracks two of them, moving a power.

Four streams at 10 rows a second, the join goes from left-deep to right-deep. Published: parallel
tracks take about two windows, linear in W; moving state grows close to a polynomial in W. The
published monitor ends tracks when the old joins store new rows only; ours when no result needs an
old row, which is one window.  Spec: dynamic-optimization 3.4, 5.2, 8.2, E8.
"""

from __future__ import annotations

import math

from _migrations import Setting, moving_state, parallel_track

from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "E8"

INTERVALS, SELECTIVITIES = (100.0, 100.0, 100.0, 100.0), (0.1, 0.05, 0.02)


def run(quick: bool, seed: int) -> Outcome:
    windows = (1000, 2000, 4000) if quick else (1000, 2000, 4000, 8000)
    settings = {window: Setting(window, INTERVALS, SELECTIVITIES) for window in windows}
    published = {w: parallel_track(each, seed, published=True) for w, each in settings.items()}
    ours = {w: parallel_track(each, seed) for w, each in settings.items()}
    # Moving state is over too soon at these windows to tell what it grows with.
    long = (8000, 16000, 32000) if quick else (8000, 16000, 32000, 64000)
    moved = {w: moving_state(Setting(w, INTERVALS, SELECTIVITIES), seed) for w in long}
    counts = [rows for _, rows in moved.values()]
    power = math.log(counts[-1] / counts[0]) / math.log(long[-1] / long[0])
    in_windows = [published[w] / w for w in windows]
    return Outcome(
        tables=(
            Table(
                "parallel tracks, in ms",
                ("window", "published monitor", "ours"),
                tuple((w, published[w], ours[w]) for w in windows),
            ),
            Table(
                "moving state",
                ("window", "ms of the processor", "rows computed"),
                tuple((w, *moved[w]) for w in long),
            ),
        ),
        plots=(
            Plot(
                "Parallel tracks",
                "window in ms",
                "ms",
                {"published monitor": list(published.items()), "ours": list(ours.items())},
            ),
            Plot(
                "Moving state",
                "window in ms",
                "rows computed",
                {"right-deep": [(w, rows) for w, (_, rows) in moved.items()]},
                log_x=True,
                log_y=True,
            ),
        ),
        checks=(
            Check(
                "parallel tracks take about 2W, linear in W, by the published monitor",
                all(1.6 <= each <= 2.4 for each in in_windows),
                ", ".join(f"{each:.2f} W" for each in in_windows),
            ),
            Check(
                "ended by what results need, they take about W",
                all(0.9 <= ours[w] / w <= 1.2 for w in windows),
                ", ".join(f"{ours[w] / w:.2f} W" for w in windows),
            ),
            Check(
                "moving state grows like a polynomial in W, of degree 2 to 3",
                1.7 <= power <= 3.3,
                f"rows computed grow with W to the power of {power:.2f}",
            ),
        ),
    )
