"""One comparison: the same work done by us and by a rival."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.lab.benchmarking.answers import difference


def rival_over_ours(ours_s: float, rival_s: float) -> float:
    """How many times as fast as the rival we are.

    >>> rival_over_ours(2.0, 3.0)
    1.5
    """
    return rival_s / ours_s


@dataclass(frozen=True)
class Timed:
    """An answer that took its own time, for work with a preparation that must not count."""

    answer: Any
    seconds: float


@dataclass(frozen=True)
class Case:
    """`ours` and `rival` do the work and return the answer, each time anew.

    `ours_io` and `rival_io` say where each side gets its rows and leaves its results, and who reads
    and writes there: "parquet by Spark → parquet". A ratio means little without it.

    A run of the rival that takes longer than `once_above` seconds is its only one; the table says
    so, and all answers of ours are compared with that one.
    """

    name: str
    ours: Callable[[], Any]
    rival: Callable[[], Any]
    rival_name: str
    repeats: int = 5
    warm_up: int = 1  # runs of each before those that count
    once_above: float = math.inf
    ours_io: str = ""
    rival_io: str = ""
    difference: Callable[[Any, Any], str | None] = difference  # None: the answers are equal
    ratio: Callable[[float, float], float] = rival_over_ours  # from our time and the rival's
    extra: Mapping[str, object] = field(default_factory=dict)  # more columns of the result

    def __post_init__(self) -> None:
        if self.repeats < 1 or self.warm_up < 0:
            raise ValueError(f"case {self.name}: repeats must be at least 1, warm_up at least 0")
