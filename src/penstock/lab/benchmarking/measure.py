"""Medians of repeated runs, ours and the rival's in turn.

In turn, so that a machine that slows down half-way slows both. Every pair of answers is
compared, also that of the warm-up; comparing is not timed.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from penstock.lab.benchmarking.case import Case, Timed


@dataclass(frozen=True)
class Result:
    """What a case came to."""

    case: str
    rival: str
    ours_runs: tuple[float, ...]
    rival_runs: tuple[float, ...]
    ratio: float
    difference: str | None  # the first one seen; None: every pair of answers was equal
    extra: dict[str, object]

    @property
    def ours_s(self) -> float:
        return median(self.ours_runs)

    @property
    def rival_s(self) -> float:
        return median(self.rival_runs)

    def as_json(self) -> dict[str, object]:
        return {
            "case": self.case,
            "ours_s": self.ours_s,
            "rival_s": self.rival_s,
            "rival": self.rival,
            "ratio": self.ratio,
            "equal": self.difference is None,
            "difference": self.difference,
            "ours_runs_s": list(self.ours_runs),
            "rival_runs_s": list(self.rival_runs),
            **self.extra,
        }


def measure(case: Case, watch: Callable[[int, int], None] = lambda run, of: None) -> Result:
    """Run a case. `watch(run, of)` hears of every pair of runs before it begins."""
    pairs: list[tuple[Timed, Timed]] = []
    differences: list[str] = []
    runs = case.warm_up + case.repeats
    for run in range(runs):
        watch(run + 1, runs)
        ours, rival = timed(case.ours), timed(case.rival)
        found = case.difference(ours.answer, rival.answer)
        if found is not None:
            differences.append(found)
        if run >= case.warm_up:
            # Only the times are kept: a case may answer with gigabytes.
            pairs.append((Timed(None, ours.seconds), Timed(None, rival.seconds)))
    ours_runs = tuple(ours.seconds for ours, _ in pairs)
    rival_runs = tuple(rival.seconds for _, rival in pairs)
    return Result(
        case=case.name,
        rival=case.rival_name,
        ours_runs=ours_runs,
        rival_runs=rival_runs,
        ratio=case.ratio(median(ours_runs), median(rival_runs)),
        difference=differences[0] if differences else None,
        extra=dict(case.extra),
    )


def timed(work: Callable[[], Any]) -> Timed:
    """The answer of `work` and its time: its own, if it took it."""
    gc.collect()  # the garbage of the run before is not this one's
    begun = time.perf_counter()
    answer = work()
    seconds = time.perf_counter() - begun
    return answer if isinstance(answer, Timed) else Timed(answer, seconds)
