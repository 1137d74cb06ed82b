"""Which session a row or a piece of a session is in: pure functions of partitions and times.

Rows are not sorted. Time is cut into cells no longer than the gap, so rows of a partition in one
cell are surely in one session; and cells, which come in order of partition and time, follow each
other in a session unless more than the gap lies between the last row of one and the first of the
next. Pieces may be long and overlap: they are sorted by where they begin, and what counts is how
far those before have reached.

    cells      |  ·  · |·      |  ·    |       |  ··   |     gap = 7
    sessions      ├─────────────────┤             ├┤
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.kernel.aggregates.grouping import Ids
from penstock.kernel.aggregates.keys import Codes, Groups, code_integers, combine

#: Numbers below this fit into 64 bits, with room to add.
MOST_CODES = 1 << 62


@dataclass(frozen=True, eq=False)
class Sessions:
    """Rows or pieces as they belong to sessions; each begins, and has its last row, there."""

    groups: Groups
    begin: Ids
    last: Ids


def sessions_of_rows(partitions: Codes, times: Ids, gap: int) -> Sessions:
    """The sessions of rows, of which there is at least one.

    >>> found = sessions_of_rows(Codes(np.array([0, 1, 0, 0]), 2), np.array([5, 6, 1, 12]), 4)
    >>> found.groups.ids.tolist(), found.begin.tolist(), found.last.tolist()
    ([0, 2, 0, 1], [1, 12, 6], [5, 12, 6])
    """
    cells = combine((partitions, code_integers(times // (gap + 1))), len(times)).groups()
    first, last = times[cells.members], times[cells.members]
    np.minimum.at(first, cells.ids, times)
    np.maximum.at(last, cells.ids, times)
    starts, numbers = _cut(partitions.codes[cells.members], first, last, gap)
    groups = Groups(numbers[cells.ids], len(starts), cells.members[starts])
    return Sessions(groups, first[starts], last[_stops(starts, len(first))])


def sessions_of_pieces(partitions: Codes, first: Ids, last: Ids, gap: int) -> Sessions:
    """The sessions of pieces, of which there is at least one.

    >>> one = Codes(np.array([0, 0, 0]), 1)
    >>> found = sessions_of_pieces(one, np.array([20, 1, 3]), np.array([21, 15, 4]), 5)
    >>> found.groups.ids.tolist(), found.begin.tolist(), found.last.tolist()
    ([0, 0, 0], [1], [21])
    """
    order = combine((partitions, code_integers(first)), len(first)).codes.argsort()
    codes, begins = partitions.codes[order], first[order]
    reach = _running_max(last[order], codes)
    starts, numbers = _cut(codes, begins, reach, gap)
    ids = np.empty(len(order), dtype=np.int64)
    ids[order] = numbers
    groups = Groups(ids, len(starts), order[starts])
    return Sessions(groups, begins[starts], reach[_stops(starts, len(order))])


def _cut(partitions: Ids, begins: Ids, reach: Ids, gap: int) -> tuple[Ids, Ids]:
    """Where sessions start among what is in order, and the session of each."""
    cut = np.ones(len(begins), dtype=np.bool_)
    cut[1:] = (begins[1:] - reach[:-1] > gap) | (partitions[1:] != partitions[:-1])
    return np.flatnonzero(cut), np.cumsum(cut) - 1


def _stops(starts: Ids, length: int) -> Ids:
    """The last of each."""
    return np.append(starts[1:], length) - 1


def _running_max(values: Ids, partitions: Ids) -> Ids:
    """The greatest value so far, beginning afresh in each partition; partitions ascend.

    >>> _running_max(np.array([3, 1, 4, 2, 1]), np.array([0, 0, 0, 1, 1])).tolist()
    [3, 3, 4, 2, 2]
    """
    # Later partitions are lifted above earlier ones.
    low, high = int(values.min()), int(values.max())
    number = np.cumsum(np.append(0, partitions[1:] != partitions[:-1]))
    if (high - low + 1) * (int(number[-1]) + 1) <= MOST_CODES:
        lift = number * (high - low + 1) - low
        reach: Ids = np.maximum.accumulate(values + lift) - lift
        return reach
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    lift = number * len(values)
    reach = np.sort(values)[np.maximum.accumulate(ranks + lift) - lift]
    return reach
