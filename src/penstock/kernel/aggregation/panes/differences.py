"""Differences: windows that follow from the one before, by what comes and what leaves.

For what can be taken away again, exactly: counts, sums of integers, and aggregates of users that
say so (`running_states`). What a window costs is what
changes at it, however many rows are in it.  Spec: window-queries 3.5, 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import (
    Grouping,
    Ids,
    concat,
    frame,
    take,
)
from penstock.kernel.aggregates.keys import code_column, code_integers, combine
from penstock.kernel.aggregates.user_defined import UserPart
from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.aggregation.panes.pane_grid import ROWS, restore_nulls
from penstock.kernel.aggregation.panes.ranges import Ranges
from penstock.kernel.aggregation.panes.running_states import Change, running_states
from penstock.kernel.segments import SegmentTable


def differences(
    aggregates: AggregateSet,
    running: SegmentTable,
    closed: int,
    bound: int,
    changes: Sequence[Change],
) -> Ranges | None:
    """Windows closed … bound - 1; `running` are the groups before them, and then those after."""
    before = [(rows.to_dict(), np.full(rows.height, closed), 1) for rows in running]
    found = [change for change in (*before, *changes) if len(change[1])]
    if not found:
        return None
    keys = concat([columns for columns, _, _ in found], aggregates.groups)
    wids = np.concatenate([at for _, at, _ in found])
    groups = combine(map(code_column, keys.values()), len(wids)).compact()
    cells = combine((groups, code_integers(wids)), len(wids)).groups()
    order = groups.codes[cells.members]
    sums: dict[str, pl.Series] = {}
    for part in aggregates.parts:
        if isinstance(part, UserPart):
            sums |= running_states(part, found, cells, order)
            continue
        for name in part.columns:
            parts = [_plain(columns[name]) * sign for columns, _, sign in found]
            sums[name] = pl.Series(_running(np.concatenate(parts), cells, order))
    start = wids[cells.members]
    is_last = np.append(order[1:] != order[:-1], True)
    stop = np.where(is_last, bound, np.append(start[1:], bound))
    there = sums[ROWS.columns[0]].to_numpy() > 0
    after = Ranges(start, stop, take(keys, cells.members) | sums)
    running.replace(frame(after.take(np.flatnonzero(there & is_last)).columns))
    index = np.flatnonzero(there & (start < np.minimum(stop, bound)))
    if not len(index):
        return None
    known = after.take(index)
    return Ranges(known.start, known.stop, restore_nulls(dict(known.columns), aggregates.parts))


def _plain(counts: pl.Series) -> Ids:
    """Numbers, where NULL is nothing."""
    numbers: Ids = (counts.fill_null(0) if counts.null_count() else counts).to_numpy()
    return numbers


def _running(changes: Ids, cells: Grouping, order: Ids) -> Ids:
    """The sum of all changes up to each cell, within its group; groups stand together."""
    at_cells = np.zeros(cells.size, dtype=np.int64)
    np.add.at(at_cells, cells.ids, changes)
    total = np.cumsum(at_cells)
    begins = np.flatnonzero(np.append(True, order[1:] != order[:-1]))
    before = np.append(0, total)[begins]
    found: Ids = total - np.repeat(before, np.diff(np.append(begins, len(order))))
    return found
