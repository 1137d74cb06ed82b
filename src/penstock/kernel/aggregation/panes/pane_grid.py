"""PaneGrid: the panes of a store as numbers, a row per pane and a column per group.

With panes laid out like this, windows of any length are computed in one go, however many there are
(`range_aggregates`). It pays where most groups have rows in most panes: a grid that is mostly empty
would cost more than its panes. It is only a view of what the store keeps: made when it is asked
for, extended by what is new, and thrown away when the store's panes were replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates import Ids, take
from penstock.kernel.aggregates.count import Count
from penstock.kernel.aggregates.extremes import Max, Min
from penstock.kernel.aggregates.function import PartialAggregate
from penstock.kernel.aggregates.sum import DoubleSum, Sum
from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.aggregation.keys import group_rows
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


@dataclass(frozen=True, eq=False)
class Cells:
    """What windows come to, one place per window and group that has rows in it."""

    window: Ids
    group: Ids
    partials: dict[str, pl.Series]


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
        self._groups = 0
        self._panes = np.empty(0, dtype=np.int64)  # numbers, in order; those that are empty lack
        self._first = 0  # row of the first of them

    @property
    def panes(self) -> Ids:
        """The numbers of the panes that are there, in order."""
        return self._panes

    @property
    def groups(self) -> int:
        return self._groups

    def append(self, rows: pl.DataFrame, numbers: Ids) -> None:
        """Add panes behind those that are there; `numbers` are in order."""
        columns = self._columns(rows)
        begins = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
        number_of_row = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(numbers))))
        places = number_of_row * self._groups + columns
        for name, each in self._ranges.items():
            grid = np.full(len(begins) * self._groups, each.neutral, each.dtype)
            values = rows.get_column(name)
            if values.null_count():
                there = values.is_not_null().to_numpy()
                grid[places[there]] = values.drop_nulls().to_numpy()
            else:
                grid[places] = values.to_numpy()
            each.append(grid.reshape(len(begins), self._groups))
        self._panes = np.concatenate((self._panes, numbers[begins]))

    def drop(self, first: int) -> None:
        """Forget the panes below `first`."""
        count = int(np.searchsorted(self._panes, first))
        if count:
            self._panes = self._panes[count:]
            self._first += count
            for each in self._ranges.values():
                each.drop(self._first)

    def is_full_enough(self, cells: int) -> bool:
        """Whether so many groups of panes fill it well enough."""
        places = len(self._panes) * self._groups
        return places <= max(PLACES * cells, FEW_PLACES)

    def rows_of(self, low: Ids, high: Ids) -> tuple[Ids, Ids]:
        """The rows that hold panes low … high - 1."""
        first = self._first
        return (
            np.searchsorted(self._panes, low) + first,
            np.searchsorted(self._panes, high) + first,
        )

    def compose(self, low: Ids, high: Ids, parts: Sequence[PartialAggregate]) -> Cells:
        """Windows of the rows low … high - 1, none of which is empty."""
        wanted = dict.fromkeys((ROWS, *counts_for(parts), *parts))
        found = {n: self._ranges[n].query(low, high) for part in wanted for n in part.columns}
        there = found[ROWS.columns[0]] > 0
        index = np.arange(there.size) if there.all() else np.flatnonzero(there)
        partials = {name: _series(values, index) for name, values in found.items()}
        restore_nulls(partials, parts)
        return Cells(index // self._groups, index % self._groups, partials)

    def keys(self, groups: Ids) -> dict[str, pl.Series]:
        """The keys of groups."""
        return take(self._keys, groups)

    def _columns(self, rows: pl.DataFrame) -> Ids:
        """The column of each row's group; groups that are new get new ones."""
        keys = {name: rows.get_column(name) for name in self._names}
        known = self._groups
        if known:
            keys = {name: pl.concat((self._keys[name], column)) for name, column in keys.items()}
        found = group_rows(keys.values(), known + rows.height)
        columns = np.full(found.size, -1)
        columns[found.ids[:known]] = np.arange(known)
        new = np.flatnonzero(columns < 0)
        if len(new):
            columns[new] = known + np.arange(len(new))
            one = np.concatenate((np.arange(known), found.members[new]))
            self._keys, self._groups = take(keys, one), known + len(new)
        columns_of_rows: Ids = columns[found.ids[known:]]
        return columns_of_rows


def can_be_laid_out(parts: Sequence[PartialAggregate]) -> bool:
    """Whether a grid can hold all of them."""
    return all(range_aggregate_of(part) is not None for part in parts)


def counts_for(parts: Sequence[PartialAggregate]) -> list[Count]:
    """The counts that tell where a part of a grid has no value."""
    return [
        _count_of(part)
        for part in parts
        if _may_be_null(part) and range_aggregate_of(part) is not None
    ]


def keep_counts(aggregates: AggregateSet) -> None:
    """How many rows and values there are tells when a group, or what it adds up, is empty."""
    aggregates.keep(ROWS, *counts_for(aggregates.parts))


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
    return isinstance(part, Sum | DoubleSum | Min | Max)


def _count_of(part: PartialAggregate) -> Count:
    return Count(part.argument, part.of)


def _series(values: Numbers, index: Ids) -> pl.Series:
    flat = values.ravel()
    return pl.Series(flat if len(index) == len(flat) else flat[index])
