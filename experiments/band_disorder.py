"""Band disorder: latency and error of buffering with slack, and of WID with punctuation.

An average (RANGE 64 s, SLIDE 6.4 s) over rows that come up to 3.2 s late. Slack makes windows wait
for late rows, and what is later still is left out: of all its windows (consistent), or of those
that are closed (generous). Punctuation tells when the last row of a window has come.

Published: with more slack the error falls and latency rises; punctuation is best at both; generous
slack is much more accurate than consistent slack at about the same latency. Published latency runs
from the arrival of the punctuation, which is when all rows of a window are there; so it is taken as
the time that a result waits although they are. The time from the end of the window (delay) stands
beside it, by which a result that is wrong can be sooner than a right one.
Spec: window-queries 8, W2; 1.3.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
from _slack import Arrived, Quality, buffering, by_knowledge, by_slack, judge, wid

from penstock.lab.experimenting import Check, Outcome, Plot, Table
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Ref
from penstock.model.timestamps import SECOND
from penstock.model.types import Type
from penstock.windows import Sliding
from penstock.workloads.disorder import Disorder
from penstock.workloads.draws import Draws
from penstock.workloads.packets import SIZES

ALIAS = "W2"

RATE = 100
BAND = 3_200_000
SLACKS = (0, 320, 640, 1280, 2560, 3200)
WINDOW = Sliding("ts", 64 * SECOND, 6_400_000)
MEAN = Aggregate("avg", Ref("v", Type.INT))
PUNCTUATION = "punctuation"


def run(quick: bool, seed: int) -> Outcome:
    stream = band_disorder(3000 if quick else 6000, seed)
    found: dict[str, dict[int, Quality]] = {
        late: {
            slack: judge(buffering(late), MEAN, WINDOW, stream, by_slack(stream, slack * 1000))
            for slack in SLACKS
        }
        for late in ("consistent", "generous")
    }
    told = judge(wid, MEAN, WINDOW, stream, by_knowledge(stream))
    consistent, generous = found["consistent"], found["generous"]
    rows = [
        (late, slack, *numbers(quality))
        for late, by in found.items()
        for slack, quality in by.items()
    ]
    return Outcome(
        tables=(
            Table(
                "buffering with slack, and WID with punctuation",
                ("what", "slack ms", "delay ms", "latency ms", "mean error %", "ms to close"),
                (*rows, (PUNCTUATION, None, *numbers(told))),
            ),
        ),
        plots=(
            Plot(
                "Band disorder",
                "latency, ms",
                "mean error, %",
                {
                    **{
                        f"{late} slack": [(1000 * q.latency, 100 * q.error) for q in by.values()]
                        for late, by in found.items()
                    },
                    PUNCTUATION: [(1000 * told.latency, 100 * told.error)],
                },
            ),
        ),
        checks=(
            Check(
                "more slack, less error",
                all(is_falling([q.error for q in by.values()]) for by in found.values()),
                f"consistent {percent(consistent)}; generous {percent(generous)}",
            ),
            Check(
                "more slack, more latency",
                all(is_falling([-q.latency for q in by.values()]) for by in found.values()),
                ", ".join(f"{slack}: {1000 * q.latency:.0f} ms" for slack, q in generous.items()),
                known="with less slack than the disorder reaches a result comes before the last "
                "rows of its window, so that it waits for nothing: latency is 0 up to there",
            ),
            Check(
                "more slack, a longer delay from the end of a window",
                all(is_falling([-q.delay for q in by.values()]) for by in found.values()),
                ", ".join(f"{slack}: {1000 * q.delay:.0f} ms" for slack, q in generous.items()),
            ),
            Check(
                "punctuation is best at both, error and latency",
                all(
                    told.error <= q.error and told.latency <= q.latency
                    for by in found.values()
                    for q in by.values()
                ),
                f"{100 * told.error:.3f} %, {1000 * told.latency:.0f} ms",
            ),
            Check(
                "generous is much more accurate than consistent at the same latency: below half",
                all(generous[s].error < 0.5 * consistent[s].error for s in SLACKS[:-1]),
                f"generous {percent(generous)}; consistent {percent(consistent)}",
            ),
        ),
    )


def band_disorder(seconds: int, seed: int) -> Arrived:
    draws = Draws(seed, "w2")
    count = RATE * seconds
    arrival = np.sort(draws.below(seconds * SECOND, "arrival", 0, count))
    ts = Disorder(band=BAND).event_times(draws, 0, arrival)
    values = SIZES[draws.below(len(SIZES), "v", 0, count)]
    return Arrived(pl.DataFrame({"v": values, "ts": ts}), arrival)


def numbers(quality: Quality) -> tuple[float, float, float, float]:
    return (
        round(1000 * quality.delay, 1),
        round(1000 * quality.latency, 1),
        round(100 * quality.error, 4),
        round(quality.closing, 3),
    )


def percent(by: dict[int, Quality]) -> str:
    return ", ".join(f"{slack}: {100 * q.error:.3f} %" for slack, q in by.items())


def is_falling(values: list[float]) -> bool:
    return all(after < before for before, after in pairwise(values))
