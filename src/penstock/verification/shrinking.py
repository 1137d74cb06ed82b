"""The smallest case that still goes wrong: fewer rows, fewer batches, a simpler order.

Greedy: leave something out, and keep what still goes wrong in the same manner. Rows go in halves,
then quarters, down to single ones; then batches are put together, punctuation left out, rows sorted
by time, values made alike. It ends when nothing can be left out, or when tries are used up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import TypeVar

from penstock.model.streams import Stream
from penstock.verification.case import VerificationCase, own_time
from penstock.verification.ways import Way

T = TypeVar("T")


@dataclass
class Shrinking:
    """`fails` says whether a case goes wrong on a way as it did at first."""

    fails: Callable[[Way, VerificationCase], bool]
    streams: Mapping[str, Stream]
    tries: int

    def smallest(self, way: Way, case: VerificationCase) -> tuple[Way, VerificationCase]:
        """Where this ends; what comes back goes wrong."""
        before = None
        while (way, case) != before and self.tries > 0:
            before = way, case
            way = self._simplest(way, Way.simpler, partial(self._fails_on, case))
            case = self._smallest_case(way, case)
        return way, case

    def _fails_on(self, case: VerificationCase, way: Way) -> bool:
        return self.fails(way, case)

    def _smallest_case(self, way: Way, case: VerificationCase) -> VerificationCase:
        fails = partial(self.fails, way)
        size = (case.size + 1) // 2
        while size:
            case = self._simplest(case, partial(_fewer_rows, size), fails)
            size //= 2
        for simpler in (_fewer_batches, _fewer_bounds, self._by_time, _alike):
            case = self._simplest(case, simpler, fails)
        return case

    def _simplest(
        self, start: T, simpler: Callable[[T], Iterable[T]], fails: Callable[[T], bool]
    ) -> T:
        """Take simpler ones as long as one of them goes wrong, and tries are left."""
        while True:
            for other in simpler(start):
                if other != start and self._may_try() and fails(other):
                    start = other
                    break
            else:
                return start

    def _may_try(self) -> bool:
        self.tries -= 1
        return self.tries >= 0

    def _by_time(self, case: VerificationCase) -> Iterator[VerificationCase]:
        """All rows of a stream in order of time, in the batches in which there are rows."""
        for name, stream in self.streams.items():
            on, rows = own_time(stream), case.rows_of(name)
            if on is not None and all(row[on] is not None for row in rows):
                yield case.with_rows(name, sorted(rows, key=itemgetter(on)))


def _fewer_rows(size: int, case: VerificationCase) -> Iterator[VerificationCase]:
    """Without so many rows that follow each other, and never without more than half of them."""
    places = list(case.places())
    size = max(1, min(size, len(places) // 2))
    for start in range(0, len(places), size):
        yield _without(case, set(places[start : start + size]))


def _without(case: VerificationCase, gone: set[tuple[int, str, int]]) -> VerificationCase:
    batches = []
    for number, batch in enumerate(case.batches):
        rows = {
            stream: tuple(r for place, r in enumerate(mine) if (number, stream, place) not in gone)
            for stream, mine in batch.rows.items()
        }
        batches.append(replace(batch, rows={name: mine for name, mine in rows.items() if mine}))
    return VerificationCase(tuple(batches))


def _fewer_batches(case: VerificationCase) -> Iterator[VerificationCase]:
    """A batch that brings nothing left out, or two that follow each other as one."""
    batches = case.batches
    for number, batch in enumerate(batches):
        if not batch.rows and not batch.bounds:
            yield VerificationCase((*batches[:number], *batches[number + 1 :]))
    for number, (one, two) in enumerate(pairwise(batches)):
        yield VerificationCase((*batches[:number], one.with_next(two), *batches[number + 2 :]))


def _fewer_bounds(case: VerificationCase) -> Iterator[VerificationCase]:
    for number, batch in enumerate(case.batches):
        for name in batch.bounds:
            rest = {key: bound for key, bound in batch.bounds.items() if key != name}
            less = replace(batch, bounds=rest)
            yield VerificationCase((*case.batches[:number], less, *case.batches[number + 1 :]))


def _alike(case: VerificationCase) -> Iterator[VerificationCase]:
    """A column that is the same in all rows of a stream says that it does not matter."""
    for name in sorted({name for batch in case.batches for name in batch.rows}):
        rows = case.rows_of(name)
        for column, value in rows[0].items():
            if any(row[column] != value for row in rows):
                yield case.with_rows(name, ({**row, column: value} for row in rows))
