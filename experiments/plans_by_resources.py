"""Memory and processor time of the plans that two strategies find.

100 settings with 3, 5 and 10 streams, of which those count in which both find a plan that fits. The
settings are those of `qualified_percentage.py` with a window of 0.3 s and wider limits, neither of
which is published: processor time from a half to three times that of the MJoin, memory up to 1,000
times. Published: plans of mjoin-init take less
memory and more processor time, those of bjtree-init the reverse; mixed for 3 streams, clearly
apart for 10. So the strategy is to be chosen by the resource of which there is more.
Spec: dynamic-optimization 5.1, E7.
"""

from __future__ import annotations

import statistics

from _join_settings import qualified, settings

from penstock.lab.experimenting import Check, Outcome, Plot, Table
from penstock.optimizer.joins.strategy import bjtree_init, mjoin_init

ALIAS = "E7"

STREAMS = (3, 5, 10)
Pair = tuple[tuple[float, float], tuple[float, float]]


def run(quick: bool, seed: int) -> Outcome:
    tried = 40 if quick else 100
    found = {streams: both(streams, tried, seed) for streams in STREAMS}
    shares = {streams: compared(pairs) for streams, pairs in found.items()}
    apart = {streams: distances(pairs) for streams, pairs in found.items()}
    rows = tuple(
        (n, len(found[n]), *(100 * share for share in shares[n]), *apart[n]) for n in STREAMS
    )
    return Outcome(
        tables=(
            Table(
                "plans of mjoin-init against those of bjtree-init",
                (
                    "streams",
                    "settings",
                    "less memory, %",
                    "more processor time, %",
                    "equal, %",
                    "times less memory",
                    "times more processor time",
                ),
                rows,
            ),
        ),
        plots=tuple(
            Plot(
                f"Plans for {streams} streams",
                "rows stored",
                "processor time a second",
                {
                    "mjoin-init": [mjoin for mjoin, _ in pairs],
                    "bjtree-init": [bjtree for _, bjtree in pairs],
                },
                log_x=True,
                log_y=True,
                scattered=True,
            )
            for streams, pairs in found.items()
        ),
        checks=(
            Check(
                "10 streams: plans of mjoin-init never take more memory, and mostly less",
                shares[10][0] > 0.5 and shares[10][0] + shares[10][2] > 0.95,
                f"less in {shares[10][0]:.0%}, equal in {shares[10][2]:.0%}",
            ),
            Check(
                "10 streams: plans of mjoin-init mostly take more processor time",
                shares[10][1] > 0.5,
                f"more in {shares[10][1]:.0%}",
            ),
            Check(
                "plans lie closer to each other for 3 streams than for 10, in both resources",
                all(few < many for few, many in zip(apart[3], apart[10], strict=True)),
                f"apart by factors of {apart[3][0]:.1f} and {apart[3][1]:.1f} for 3 streams, "
                f"{apart[10][0]:.1f} and {apart[10][1]:.1f} for 10",
            ),
        ),
    )


def both(streams: int, tried: int, seed: int) -> list[Pair]:
    """By settings in which both find a plan, memory and processor time of each."""
    pairs: list[Pair] = []
    for each in settings(streams, tried, seed, processor=(0.5, 3.0), memory=(1.0, 1e3), window=0.3):
        mjoin = qualified(mjoin_init(each.trees, each.limits), each.limits)
        bjtree = qualified(bjtree_init(each.trees, each.limits), each.limits)
        if mjoin and bjtree:
            pairs.append(
                (
                    (mjoin.cost.memory, mjoin.cost.processor),
                    (bjtree.cost.memory, bjtree.cost.processor),
                )
            )
    return pairs


def compared(pairs: list[Pair]) -> tuple[float, float, float]:
    """In what share of settings mjoin-init takes less memory, more processor time, or the same."""
    less = sum(mjoin[0] < bjtree[0] * 0.999 for mjoin, bjtree in pairs)
    more = sum(mjoin[1] > bjtree[1] * 1.001 for mjoin, bjtree in pairs)
    equal = sum(abs(mjoin[0] - bjtree[0]) <= 0.001 * bjtree[0] for mjoin, bjtree in pairs)
    return less / len(pairs), more / len(pairs), equal / len(pairs)


def distances(pairs: list[Pair]) -> tuple[float, float]:
    """By which factors plans of bjtree-init take more memory, and less processor time; medians."""
    return (
        statistics.median(bjtree[0] / mjoin[0] for mjoin, bjtree in pairs),
        statistics.median(mjoin[1] / bjtree[1] for mjoin, bjtree in pairs),
    )
