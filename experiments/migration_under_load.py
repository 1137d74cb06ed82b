"""Moving state or parallel tracks under load: for small windows the first is faster.

A at 10 rows a second, B, C and D at 83, selectivities of 0.1. Published: moving state is faster for
small windows, the gap closes, and beyond some window parallel tracks are faster.
Spec: dynamic-optimization 3.4, 5.2, E10.
"""

from __future__ import annotations

import itertools
import math

from _migrations import Setting, moving_state, parallel_track

from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "E10"

INTERVALS, SELECTIVITIES = (100.0, 12.0, 12.0, 12.0), (0.1, 0.1, 0.1)


def run(quick: bool, seed: int) -> Outcome:
    windows = (500, 1000, 2000) if quick else (500, 1000, 2000, 4000)
    settings = {w: Setting(w, INTERVALS, SELECTIVITIES) for w in windows}
    moved = {w: moving_state(each, seed)[0] for w, each in settings.items()}
    tracks = {w: parallel_track(each, seed, published=True) for w, each in settings.items()}
    shares = [moved[w] / tracks[w] for w in windows]
    power = math.log(moved[windows[-1]] / moved[windows[-2]], 2)
    # Where the one, which grows with a power, meets the other, which is linear.
    growth = max(power - 1, 0.01)
    crossing = windows[-1] / 1000 * (1 / shares[-1]) ** (1 / growth)
    return Outcome(
        tables=(
            Table(
                "in ms",
                ("window", "moving state", "parallel tracks", "share"),
                tuple((w, moved[w], tracks[w], moved[w] / tracks[w]) for w in windows),
            ),
        ),
        plots=(
            Plot(
                "Time of a change",
                "window in ms",
                "ms",
                {"moving state": list(moved.items()), "parallel tracks": list(tracks.items())},
                log_x=True,
                log_y=True,
            ),
        ),
        checks=(
            Check(
                "moving state is faster for small windows",
                shares[0] < 1,
                f"{moved[windows[0]]:.0f} ms against {tracks[windows[0]]:.0f} ms",
            ),
            Check(
                "the gap closes as windows grow",
                all(a < b for a, b in itertools.pairwise(shares[-2:])),
                ", ".join(f"{w} ms: {s:.1%}" for w, s in zip(windows, shares, strict=True)),
            ),
            Check(
                "beyond some window parallel tracks are faster",
                shares[-1] > 1,
                f"{shares[-1]:.1%} at {windows[-1]} ms; they would meet at some {crossing:.0f} s",
                known="our joins compute a million rows in a fraction of a second, so both meet "
                "only where rows of a window no longer fit",
            ),
        ),
    )
