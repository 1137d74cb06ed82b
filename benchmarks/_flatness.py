"""Whether a figure that was sampled over a long run grows: thirds that are compared, and slopes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

#: Seconds since the beginning, and the figure then.
Samples = Sequence[tuple[float, float]]

HOUR = 3600.0


@dataclass(frozen=True)
class Flatness:
    """A figure in the first and in the last third of a run, and how it grows in an hour."""

    first: float
    last: float
    slope: float

    @property
    def ratio(self) -> float:
        """Below 1 it has grown; what was nothing and is nothing is flat."""
        return 1.0 if self.last == self.first else self.first / self.last


def flatness(
    samples: Samples, warm_up: float, of_third: Callable[[Sequence[float]], float] = median
) -> Flatness:
    """What samples behind the warm-up come to; `of_third` makes one figure of many.

    >>> flatness([(0, 900), (10, 5), (20, 6), (30, 6)], warm_up=5)
    Flatness(first=5, last=6, slope=180.0)
    """
    counted = [(at, value) for at, value in samples if at >= warm_up]
    if len(counted) < 3:
        raise ValueError(f"{len(counted)} samples after the warm-up of {warm_up:g} s: too few")
    begin, end = counted[0][0], counted[-1][0]
    third = (end - begin) / 3
    first = [value for at, value in counted if at <= begin + third]
    last = [value for at, value in counted if at >= end - third]
    return Flatness(of_third(first), of_third(last), HOUR * slope(counted))


def slope(samples: Samples) -> float:
    """By how much a figure grows in a second: the line with the least squares.

    >>> slope([(0, 1), (1, 3), (2, 5)])
    2.0
    """
    count = len(samples)
    at = sum(each for each, _ in samples) / count
    mean = sum(value for _, value in samples) / count
    spread = sum((each - at) ** 2 for each, _ in samples)
    together = sum((each - at) * (value - mean) for each, value in samples)
    return together / spread if spread else 0.0
