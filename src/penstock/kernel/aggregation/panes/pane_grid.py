"""PaneGrid: the panes of a store as numbers, a row per pane and a column per group.

With panes laid out like this, windows of any length are computed in one go, however many there are
(`range_aggregates`). It pays where most groups have rows in most panes: a grid that is mostly empty
would cost more than its panes. It is only a view of what the store keeps: made when it is asked
for, extended by what is new, and thrown away when the store's panes were replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from penstock.kernel.aggregates.count import Count
from penstock.kernel.aggregates.extremes import Max, Min
from penstock.kernel.aggregates.function import PartialAggregate
from penstock.kernel.aggregates.grouping import Ids, concat, take
from penstock.kernel.aggregates.keys import group_rows
from penstock.kernel.aggregates.sum import Sum
from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.aggregation.panes.range_aggregates import (
    Numbers,
    RangeAggregate,
    range_aggregate_of,
)

#: Places that a grid may have per group and pane that is there.
PLACES = 4
#: A grid that is no larger than this is never too empty.
FEW_PLACES = 1 << 14

#: The number of a pane; what bounds behind the store are about.
PANE = "__pane"
#: How many rows a group has in a pane.
ROWS = Count(None, None)


class PaneGrid:
    """The panes of `groups`, with a range aggregate for each part."""

    def __init__(self, groups: Sequence[str], parts: Sequence[PartialAggregate]) -> None:
        self._ranges: dict[str, RangeAggregate] = {}
        for part in parts:
            each = range_aggregate_of(part)
            assert each is not None
            self._ranges[part.columns[0]] = each
        self._names = list(groups)
        self._keys: dict[str, pl.Series] = {}
        self.groups = 0
        self.panes = np.empty(0, dtype=np.int64)  # numbers, in order; those that are empty lack
        self._first = 0  # row of the first of them

    def append(self, rows: pl.DataFrame, numbers: Ids) -> None:
        """Add panes behind those that are there; `numbers` are in order."""
        columns = self._columns(rows)
        begins = np.append(True, numbers[1:] != numbers[:-1])
        places = (np.cumsum(begins) - 1) * self.groups + columns
        added = numbers[begins]
        for name, each in self._ranges.items():
            grid = np.full(len(added) * self.groups, each.neutral, each.dtype)
            values = rows.get_column(name)
            if values.null_count():
                values = values.fill_null(each.neutral)
            grid[places] = values.to_numpy()
            each.append(grid.reshape(len(added), self.groups))
        self.panes = np.concatenate((self.panes, added))

    def drop(self, first: int) -> None:
        """Forget the panes below `first`."""
        count = int(np.searchsorted(self.panes, first))
        if count:
            self.panes = self.panes[count:]
            self._first += count
            for each in self._ranges.values():
                each.drop(self._first)

    def is_full_enough(self, cells: int) -> bool:
        """Whether so many groups of panes fill it well enough."""
        places = len(self.panes) * self.groups
        return places <= max(PLACES * cells, FEW_PLACES)

    def rows_of(self, low: Ids, high: Ids) -> tuple[Ids, Ids]:
        """The rows that hold panes low … high - 1."""
        low, high = np.searchsorted(self.panes, (low, high)) + self._first
        return low, high

    def compose(
        self, low: Ids, high: Ids, parts: Sequence[PartialAggregate]
    ) -> tuple[Ids, dict[str, pl.Series]]:
        """What windows of the rows low … high - 1, none of which is empty, come to.

        One place per window and group that has rows in it: the window, and group and partials.
        """
        names = [name for part in with_counts(parts) for name in part.columns]
        found = {name: self._ranges[name].query(low, high) for name in names}
        index = np.flatnonzero(found[ROWS.columns[0]] > 0)
        partials = {name: _series(values, index) for name, values in found.items()}
        keys = take(self._keys, index % self.groups)
        return index // self.groups, keys | restore_nulls(partials, parts)

    def _columns(self, rows: pl.DataFrame) -> Ids:
        """The column of each row's group; groups that are new get new ones."""
        keys = {name: rows.get_column(name) for name in self._names}
        known = self.groups
        if known:
            keys = concat([self._keys, keys], keys)
        found = group_rows(keys.values(), known + rows.height)
        columns = np.full(found.size, -1)
        columns[found.ids[:known]] = np.arange(known)
        new = np.flatnonzero(columns < 0)
        if len(new):
            columns[new] = known + np.arange(len(new))
            one = np.concatenate((np.arange(known), found.members[new]))
            self._keys, self.groups = take(keys, one), known + len(new)
        columns_of_rows: Ids = columns[found.ids[known:]]
        return columns_of_rows


def can_be_laid_out(parts: Sequence[PartialAggregate]) -> bool:
    """Whether a grid can hold all of them."""
    return all(range_aggregate_of(part) is not None for part in parts)


def with_counts(parts: Iterable[PartialAggregate]) -> list[PartialAggregate]:
    """Parts, and the counts that tell where a group, or what a part of it adds up, is empty."""
    parts = list(parts)
    counts = [
        _count_of(part)
        for part in parts
        if _may_be_null(part) and range_aggregate_of(part) is not None
    ]
    return list(dict.fromkeys((*parts, ROWS, *counts)))


def keep_counts(aggregates: AggregateSet) -> None:
    """Keep them, to take away again what was added up."""
    aggregates.keep(*with_counts(aggregates.parts))


def restore_nulls(
    partials: dict[str, pl.Series], parts: Sequence[PartialAggregate]
) -> dict[str, pl.Series]:
    """Sums and extremes of nothing are NULL again."""
    for part in filter(_may_be_null, parts):
        [name], [count] = part.columns, _count_of(part).columns
        empty = partials[count] == 0
        if empty.any():
            partials[name] = partials[name].set(empty, None)
    return partials


def _may_be_null(part: PartialAggregate) -> bool:
    return isinstance(part, Sum | Min | Max)


def _count_of(part: PartialAggregate) -> Count:
    return Count(part.argument, part.of)


def _series(values: Numbers, index: Ids) -> pl.Series:
    flat = values.ravel()
    return pl.Series(flat if len(index) == len(flat) else flat[index])
