"""Moving state or parallel tracks under load: for small windows the first is faster.

A at 10 rows a second, B, C and D at 83, selectivities of 0.1. Published: moving state is faster for
small windows, the gap closes, and beyond some window parallel tracks are faster. On a machine of
today both meet beyond what memory holds. The rows to be computed grow with the third power of W, so
there is such a window for every machine: for one that computes 50 rows in a ms, and not some 4000,
it is among those that are measured.
Spec: dynamic-optimization 3.4, 5.2, E10.
"""

from __future__ import annotations

import itertools

from _migrations import Setting, moving_state, parallel_track

from penstock.lab.experimenting import Check, Outcome, Plot, Table

ALIAS = "E10"

#: Rows that a slow machine computes in a ms.
SLOW = 50
INTERVALS, SELECTIVITIES = (100.0, 12.0, 12.0, 12.0), (0.1, 0.1, 0.1)


def run(quick: bool, seed: int) -> Outcome:
    windows = (500, 1000, 2000, 4000)
    settings = {w: Setting(w, INTERVALS, SELECTIVITIES) for w in windows}
    found = {w: moving_state(each, seed) for w, each in settings.items()}
    moved = {w: spent for w, (spent, _) in found.items()}
    tracks = {w: parallel_track(each, seed, published=True) for w, each in settings.items()}
    shares = [moved[w] / tracks[w] for w in windows]
    slow = {w: rows / SLOW for w, (_, rows) in found.items()}
    # What is computed, for the time of small windows is that of making the plan.
    each = [found[w][1] / tracks[w] for w in windows]
    return Outcome(
        tables=(
            Table(
                "in ms",
                ("window", "moving state", "rows computed", "slow machine", "parallel tracks"),
                tuple((w, *found[w], slow[w], tracks[w]) for w in windows),
            ),
        ),
        plots=(
            Plot(
                "Time of a change",
                "window in ms",
                "ms",
                {
                    "moving state": list(moved.items()),
                    "on a slow machine": list(slow.items()),
                    "parallel tracks": list(tracks.items()),
                },
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
                all(a < b for a, b in itertools.pairwise(each)),
                "rows computed for each ms that tracks take: "
                + ", ".join(f"{w} ms: {n:.2f}" for w, n in zip(windows, each, strict=True)),
            ),
            Check(
                f"of a machine that computes {SLOW} rows in a ms they cross",
                slow[windows[0]] < tracks[windows[0]] and slow[windows[-1]] > tracks[windows[-1]],
                ", ".join(f"{w} ms: {slow[w]:,.0f} against {tracks[w]:,.0f} ms" for w in windows),
            ),
            Check(
                "beyond some window parallel tracks are faster",
                shares[-1] > 1,
                f"moving state takes {shares[-1]:.1%} of the time at {windows[-1]} ms",
                known="our joins compute a million rows in a fraction of a second, so both meet "
                "only where rows of a window no longer fit",
            ),
        ),
    )
