"""Counts for each micro-batch, and their sum.

Spark may repeat a batch that it has not committed; its counts then replace the earlier ones. A
batch that is long over does not come again, so only the sum remembers it: memory and time stay the
same however long a query runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Generic, TypeVar

from penstock.runtime.counts import Tally

#: More batches than may be counted again, which is the last one, or than a reader lags behind.
KEPT = 100

T = TypeVar("T")


class ByBatch(Generic[T]):
    """A value for each of the last batches; `before` is what the others came to."""

    def __init__(self, nothing: Callable[[], T], plus: Callable[[T, T], T]) -> None:
        self._plus = plus
        self._nothing = nothing
        self._before = nothing()
        self._latest: dict[int, T] = {}

    def __setitem__(self, batch: int, value: T) -> None:
        self._latest[batch] = value
        if len(self._latest) > KEPT:
            oldest = next(iter(self._latest))
            self._before = self._plus(self._before, self._latest.pop(oldest))

    def __getitem__(self, batch: int) -> T:
        """The value of one of the last batches."""
        return self._latest.get(batch) or self._nothing()

    @property
    def total(self) -> T:
        """All batches together."""
        # As a list: a batch may be counted in another thread.
        return reduce(self._plus, [self._before, *self._latest.values()], self._nothing())


def numbers_by_batch() -> ByBatch[int]:
    return ByBatch(int, int.__add__)


def tallies_by_batch() -> ByBatch[Tally]:
    """The tally of one stream in one pipeline."""
    return ByBatch(Tally, _together)


def _together(one: Tally, other: Tally) -> Tally:
    one.add(other)
    return one
