"""The smallest case that still goes wrong: fewer rows, fewer batches, a simpler order.

Greedy: leave something out, and keep what still goes wrong in the same manner. Rows go in halves,
then quarters, down to single ones; then batches are put together, punctuation left out, rows sorted
by time, values made alike. It ends when nothing can be left out, or when tries are used up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.model.streams import Stream, TimestampKind
from penstock.verification.case import Batch, Case, Row
from penstock.verification.ways import Way


@dataclass
class Shrinking:
    """`fails` says whether a case goes wrong on a way as it did at first."""

    fails: Callable[[Way, Case], bool]
    streams: Mapping[str, Stream]
    tries: int

    def smallest(self, way: Way, case: Case) -> tuple[Way, Case]:
        """Where this ends; what comes back goes wrong."""
        way = self._simpler_way(way, case)
        before = None
        while (way, case) != before and self.tries > 0:
            before = way, case
            case = self._fewer_rows(way, case)
            for simpler in (_fewer_batches, _fewer_promises, self._by_time, _alike):
                case = self._first(way, case, simpler)
            way = self._simpler_way(way, case)
        return way, case

    def _try(self, way: Way, case: Case) -> bool:
        if self.tries <= 0:
            return False
        self.tries -= 1
        return self.fails(way, case)

    def _simpler_way(self, way: Way, case: Case) -> Way:
        moved = True
        while moved:
            moved = False
            for other in way.simpler():
                if other != way and self._try(other, case):
                    way, moved = other, True
                    break
        return way

    def _fewer_rows(self, way: Way, case: Case) -> Case:
        size = max(1, case.size // 2)
        while True:
            places = list(case.rows())
            for start in range(0, len(places), size):
                gone = set(places[start : start + size])
                smaller = _without(case, gone)
                if gone and self._try(way, smaller):
                    case = smaller
                    break
            else:
                if size == 1 or self.tries <= 0:
                    return case
                size = max(1, size // 2)
                continue
            size = min(size, max(1, case.size // 2))

    def _first(self, way: Way, case: Case, simpler: Callable[[Case], Iterator[Case]]) -> Case:
        """Take simpler cases as long as one of them goes wrong."""
        while True:
            for other in simpler(case):
                if other != case and self._try(way, other):
                    case = other
                    break
            else:
                return case

    def _by_time(self, case: Case) -> Iterator[Case]:
        """All rows of a stream in order of time, in the batches in which there are rows."""
        for name, stream in self.streams.items():
            on = stream.timestamp
            if stream.kind is not TimestampKind.EXTERNAL or on is None:
                continue
            rows = [row for batch in case.batches for row in batch.rows.get(name, ())]
            if any(row[on] is None for row in rows):
                continue
            rows.sort(key=lambda row: row[on])
            batches = []
            for batch in case.batches:
                mine, rows = (
                    rows[: len(batch.rows.get(name, ()))],
                    rows[len(batch.rows.get(name, ())) :],
                )
                batches.append(replace(batch, rows=_filled(batch, name, mine)))
            yield Case(tuple(batches))


def _filled(batch: Batch, name: str, rows: list[Row]) -> dict[str, tuple[Row, ...]]:
    return {**batch.rows, name: tuple(rows)} if rows else dict(batch.rows)


def _without(case: Case, gone: set[tuple[int, str, int]]) -> Case:
    batches = []
    for number, batch in enumerate(case.batches):
        rows = {
            stream: tuple(r for place, r in enumerate(mine) if (number, stream, place) not in gone)
            for stream, mine in batch.rows.items()
        }
        batches.append(replace(batch, rows={name: mine for name, mine in rows.items() if mine}))
    return Case(tuple(batches))


def _fewer_batches(case: Case) -> Iterator[Case]:
    """A batch that brings nothing left out, or two that follow each other as one."""
    batches = case.batches
    for number, batch in enumerate(batches):
        if not batch.rows and not batch.promises:
            yield Case((*batches[:number], *batches[number + 1 :]))
    for number in range(len(batches) - 1):
        one, two = batches[number : number + 2]
        names = dict.fromkeys((*one.rows, *two.rows))
        rows = {name: (*one.rows.get(name, ()), *two.rows.get(name, ())) for name in names}
        both = Batch(rows, {**one.promises, **two.promises}, one.clock)
        yield Case((*batches[:number], both, *batches[number + 2 :]))


def _fewer_promises(case: Case) -> Iterator[Case]:
    for number, batch in enumerate(case.batches):
        for name in batch.promises:
            rest = {key: bound for key, bound in batch.promises.items() if key != name}
            less = replace(batch, promises=rest)
            yield Case((*case.batches[:number], less, *case.batches[number + 1 :]))


def _alike(case: Case) -> Iterator[Case]:
    """A column that is the same in all rows of a stream says that it does not matter."""
    names = {name for batch in case.batches for name in batch.rows}
    for name in sorted(names):
        rows = [row for batch in case.batches for row in batch.rows.get(name, ())]
        for column in rows[0]:
            value = rows[0][column]
            if any(row[column] != value for row in rows):
                yield Case(
                    tuple(
                        replace(
                            batch,
                            rows={
                                **batch.rows,
                                name: tuple({**r, column: value} for r in batch.rows[name]),
                            },
                        )
                        if name in batch.rows
                        else batch
                        for batch in case.batches
                    )
                )
