"""Medians of repeated runs, ours and the rival's in turn.

In turn, so that a machine that slows down half-way slows both. Every answer of ours is compared
with the rival's latest, also those of the warm-up; comparing is not timed.
"""

from __future__ import annotations

import gc
import math
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
    ours_io: str = ""
    rival_io: str = ""

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
            "ours_io": self.ours_io,
            "rival_io": self.rival_io,
            **self.extra,
        }


def measure(
    case: Case,
    watch: Callable[[int, int], None] = lambda run, of: None,
    seconds: float = math.inf,
) -> Result:
    """Run a case. `watch(run, of)` is told of every pair of runs before it begins.

    A pair that would not be over in so many seconds from the beginning, if it takes as long as the
    one before, is left out, but for the first that counts.
    """
    begun = time.monotonic()
    longest = 0.0
    ours_runs: list[float] = []
    rival_runs: list[float] = []
    difference: str | None = None
    rival: Timed | None = None
    runs = case.warm_up + case.repeats
    for run in range(runs):
        before = time.monotonic()
        if ours_runs and before - begun + longest > seconds:
            break
        watch(run + 1, runs)
        counts = run >= case.warm_up
        ours = timed(case.ours)
        if rival is None or not (rival_runs and rival_runs[0] > case.once_above):
            rival = timed(case.rival)
            rival_runs += [rival.seconds] if counts else []
        ours_runs += [ours.seconds] if counts else []
        found = case.difference(ours.answer, rival.answer)
        difference = found if difference is None else difference
        longest = max(longest, time.monotonic() - before)
    return Result(
        case=case.name,
        rival=case.rival_name,
        ours_runs=tuple(ours_runs),
        rival_runs=tuple(rival_runs),
        ratio=case.ratio(median(ours_runs), median(rival_runs)),
        difference=difference,
        extra=dict(case.extra),
        ours_io=case.ours_io,
        rival_io=case.rival_io,
    )


def timed(work: Callable[[], Any]) -> Timed:
    """The answer of `work` and its time: its own, if it took it."""
    gc.collect()  # the garbage of the run before is not this one's
    begun = time.perf_counter()
    answer = work()
    seconds = time.perf_counter() - begun
    return answer if isinstance(answer, Timed) else Timed(answer, seconds)
