"""Block-sorted disorder: latency and wrong answers by slack, against punctuation after each block.

A count (RANGE 600 s, SLIDE 60 s) over a stream that was cut into stretches of 490 s, each shuffled,
as by a router that empties its cache; buffering with consistent slack, WID with a punctuation
behind each block.

Published: no linear relation of latency and accuracy; one slack is the best, as long as a block;
below it latency does not depend on slack, above it latency grows and nothing is gained; punctuation
beats every slack. Latency is taken as in W2: the time that a result waits although all rows of its
window are there. The time from the end of a window (delay) does grow with slack from the beginning.
Spec: window-queries 8, W3; 1.3.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from _slack import Arrived, Quality, Times, buffering, by_slack, judge, wid

from penstock.lab.experimenting import Check, Outcome, Plot, Table
from penstock.model.aggregates import Aggregate
from penstock.model.timestamps import SECOND
from penstock.windows import Sliding
from penstock.workloads.draws import Draws

ALIAS = "W3"

RATE = 5
BLOCK = 490
SLACKS = (0.0, 54.4, 109.1, 218.2, 327.3, 434.2, 490.9, 600.0)
BEST = 490.9
WINDOW = Sliding("ts", 600 * SECOND, 60 * SECOND)
COUNT = Aggregate("count")


def run(quick: bool, seed: int) -> Outcome:
    stream, ends = block_sorted(20 if quick else 100, seed)
    found = {
        slack: judge(
            buffering("consistent"), COUNT, WINDOW, stream, by_slack(stream, int(slack * SECOND))
        )
        for slack in SLACKS
    }
    told = judge(wid, COUNT, WINDOW, stream, ends)
    below = [found[slack].latency for slack in SLACKS if slack < BEST]
    best, most = found[BEST], found[SLACKS[-1]]
    return Outcome(
        tables=(
            Table(
                "buffering with consistent slack, and WID with punctuation",
                ("slack s", "delay s", "latency s", "wrong answers %", "ms to close"),
                (
                    *((slack, *numbers(quality)) for slack, quality in found.items()),
                    ("punctuation", *numbers(told)),
                ),
            ),
        ),
        plots=(
            Plot(
                "Block-sorted disorder",
                "latency, s",
                "wrong answers, %",
                {
                    "consistent slack": [(q.latency, 100 * q.wrong) for q in found.values()],
                    "punctuation": [(told.latency, 100 * told.wrong)],
                },
            ),
        ),
        checks=(
            Check(
                "a slack as long as a block is the least without wrong answers",
                best.wrong == 0 and all(found[s].wrong > 0 for s in SLACKS if s < BEST),
                ", ".join(f"{slack:g} s: {q.wrong:.0%}" for slack, q in found.items()),
            ),
            Check(
                "below it latency does not depend on slack: within a tenth of a slide",
                max(below) - min(below) < WINDOW.slide / SECOND / 10,
                ", ".join(f"{latency:.1f} s" for latency in below),
            ),
            Check(
                "above it latency grows, and nothing is gained",
                most.latency > best.latency and most.wrong == best.wrong,
                f"{best.latency:.1f} s at {BEST} s, {most.latency:.1f} s at {SLACKS[-1]:g} s",
            ),
            Check(
                "punctuation beats every slack: fewer wrong answers, or as few and sooner",
                all((told.wrong, told.latency) < (q.wrong, q.latency) for q in found.values()),
                f"{told.latency:.1f} s against {best.latency:.1f} s",
            ),
        ),
    )


def block_sorted(blocks: int, seed: int) -> tuple[Arrived, Times]:
    """The stream, and the bound behind each row: a block's end behind its last row."""
    draws = Draws(seed, "w3")
    per_block, length = RATE * BLOCK, BLOCK * SECOND
    count = per_block * blocks
    block = np.repeat(np.arange(blocks), per_block)
    ts = block * length + draws.below(length, "age", 0, count)
    # A block comes once it is over, at the pace of the stream.
    arrival = length + np.sort(block * length + draws.below(length, "arrival", 0, count))
    ends = block * length
    ends[per_block - 1 :: per_block] += length
    rows = pl.DataFrame({"v": np.ones(count, dtype=np.int32), "ts": ts})
    return Arrived(rows, arrival), ends


def numbers(quality: Quality) -> tuple[float, float, float, float]:
    return (
        round(quality.delay, 1),
        round(quality.latency, 2),
        round(100 * quality.wrong, 1),
        round(quality.closing, 3),
    )
