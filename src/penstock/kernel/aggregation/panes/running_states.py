"""Running states: aggregates of users that can be subtracted, from each window to the next.

Numbers are added up along a column in one go. Of a user's states only two can be joined at a time:
so the first change of every group is made in one step, then the second of every group, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Columns, Grouping, Ids, concat
from penstock.kernel.aggregates.user_defined import UserPart

#: Groups with their partials, the windows at which they come (1) or leave (-1), and which of both.
Change = tuple[Columns, Ids, int]


def running_states(
    part: UserPart, changes: Sequence[Change], cells: Grouping, order: Ids
) -> dict[str, pl.Series]:
    """The partials of each cell, a group at a window; groups stand together, windows in order."""
    comes, goes = (_of_cells(part, changes, cells, sign) for sign in (1, -1))
    begins = np.flatnonzero(np.append(True, order[1:] != order[:-1]))
    lengths = np.diff(np.append(begins, len(order)))
    before: list[pl.Series] | None = None
    found: list[list[pl.Series]] = []
    places: list[Ids] = []
    for step in range(int(lengths.max())):
        there = lengths > step
        cell = begins[there] + step
        new = _take(comes, cell)
        if before is not None:
            still = np.flatnonzero(there[lengths > step - 1])
            new = _merged(part, _take(before, still), new)
        before = part.subtract(new, _take(goes, cell))
        found.append(before)
        places.append(cell)
    back = np.empty(len(order), dtype=np.int64)
    back[np.concatenate(places)] = np.arange(len(order))
    columns = [pl.concat(each) for each in zip(*found, strict=True)]
    return dict(zip(part.columns, _take(columns, back), strict=True))


def _of_cells(
    part: UserPart, changes: Sequence[Change], cells: Grouping, sign: int
) -> list[pl.Series]:
    """What comes, or goes, at each cell; the state of nothing where nothing does."""
    first, chosen, ids = 0, [], []
    for columns, at, which in changes:
        if which == sign:
            chosen.append(columns)
            ids.append(cells.ids[first : first + len(at)])
        first += len(at)
    if not chosen:
        of_any = changes[0][0]
        return [of_any[name].clear(cells.size) for name in part.columns]
    states = concat(chosen, part.columns)
    present, dense = np.unique(np.concatenate(ids), return_inverse=True)
    merged = part.merge(states, Grouping(dense.astype(np.int64), len(present)))
    if len(present) == cells.size:
        return list(merged)
    places = np.full(cells.size, len(present))
    places[present] = np.arange(len(present))
    # One more, of nothing, for the cells at which there is none.
    return _take([pl.concat([column, column.clear(1)]) for column in merged], places)


def _merged(part: UserPart, one: list[pl.Series], other: list[pl.Series]) -> list[pl.Series]:
    size = len(one[0])
    both = concat(
        [dict(zip(part.columns, each, strict=True)) for each in (one, other)], part.columns
    )
    return list(part.merge(both, Grouping(np.tile(np.arange(size), 2), size)))


def _take(columns: Sequence[pl.Series], index: Ids) -> list[pl.Series]:
    return [column.gather(index) for column in columns]
