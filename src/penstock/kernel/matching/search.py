"""The search for matches: from which rows they are tried, and where it goes on behind each."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from penstock.kernel.matching.lazy_dfa import Ints
from penstock.kernel.matching.sorted_rows import SortedRows
from penstock.model.match import Skip
from penstock.model.timestamps import BEGINNING, END

#: Rows of matches that are told at a time.
MOST_VARIABLES = 1 << 22


class Search(Protocol):
    """Tries matches: `scan` or `threads`."""

    @property
    def ended(self) -> int: ...

    def forget(self) -> None: ...

    def begins(self, rows: SortedRows, masks: Ints) -> list[int]: ...

    def attempt(self, start: int) -> int | None: ...

    def walk(self, start: int, limit: int) -> tuple[int, int]: ...

    def variables(self, start: int, end: int) -> list[int]: ...


@dataclass
class Matches:
    """First and last rows of matches, and the variables of all rows between, in a row.

    `held` are the rows, by the ends of their partitions, at which the search waits for more.
    """

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    variables: list[int] = field(default_factory=list)
    held: dict[int, int] = field(default_factory=dict)

    def row_numbers(self) -> Ints:
        """The row of each variable."""
        starts, ends = np.array(self.starts), np.array(self.ends)
        sizes = ends - starts + 1
        behind = np.repeat(np.cumsum(sizes) - sizes, sizes)
        numbers: Ints = np.arange(len(self.variables)) - behind + np.repeat(starts, sizes)
        return numbers

    def match_numbers(self) -> Ints:
        """The match of each variable."""
        sizes = np.array(self.ends) - np.array(self.starts) + 1
        return np.repeat(np.arange(len(sizes)), sizes)


def find_matches(
    search: Search, rows: SortedRows, masks: Ints, skip: Skip, names: tuple[str, ...]
) -> Iterator[Matches]:
    """All matches that are decided, partition by partition.

    They come in parts, because matches may overlap; the last one has all that is held.
    """
    found = Matches()
    begins = search.begins(rows, masks)
    wanted = names.index(skip.variable) if skip.variable is not None else -1
    index = 0
    while index < len(begins):
        start = begins[index]
        index += 1
        end = search.attempt(start)
        if end is None:
            stop = rows.stops[start]
            found.held[stop] = start
            index = bisect_left(begins, stop, index)
        elif end >= 0:
            variables = search.variables(start, end)
            found.starts.append(start)
            found.ends.append(end)
            found.variables += variables
            if skip.to != "next":
                index = bisect_left(begins, start + skipped(skip, variables, wanted), index)
            if len(found.variables) >= MOST_VARIABLES:
                yield found
                found = Matches(held=found.held)
    yield found


def skipped(skip: Skip, variables: list[int], wanted: int) -> int:
    """How many rows of a match are skipped, at least its first.

    >>> skipped(Skip("first", "B"), [0, 1, 1, 2], 1), skipped(Skip("last", "A"), [0, 1, 1], 0)
    (1, 1)
    """
    match skip.to:
        case "next":
            return 1
        case "past":
            return len(variables)
        case "first":
            return max(1, variables.index(wanted)) if wanted in variables else 1
    last = len(variables) - 1 - variables[::-1].index(wanted) if wanted in variables else 0
    return max(1, last)


@dataclass(frozen=True)
class NextMatch:
    """The next match of a partition, and the bound that lets it out."""

    bound: int
    start: int
    end: int
    variables: list[int]


def next_matches(
    search: Search, rows: SortedRows, masks: Ints, most: int
) -> list[NextMatch] | None:
    """The next match of each partition that has one among these rows, if none comes to them.

    None: more than so many rows would have to be tried to tell.
    """
    search.begins(rows, masks)
    ticks, found = rows.ticks, []
    for first in rows.partitions.tolist():
        decided = BEGINNING
        for start in range(first, rows.stops[first]):
            if rows.back[start]:
                continue
            limit = rows.limit(start)
            end, at = search.walk(start, limit)
            most -= (limit if at < 0 else at) - start + 1
            if most < 0:
                return None
            last = END - 1 if rows.within is None else ticks[start] + rows.within
            last = ticks[limit - 1] if rows.is_full(start) else last
            decided = max(decided, (last if at < 0 else ticks[at]) + 1)
            if end >= 0:
                found.append(NextMatch(decided, start, end, search.variables(start, end)))
                break
    return found
