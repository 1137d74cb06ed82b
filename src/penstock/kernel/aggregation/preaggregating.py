"""Preaggregating: what aggregates have in common whose rows may be aggregated elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import (
    Ids,
    frame,
    narrowed,
    take,
    take_values,
)
from penstock.kernel.aggregates.keys import Codes, Groups
from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.operator import Operator

#: The column that says whose partial aggregates these are, where a table has those of several.
WHOSE = "__whose"


class Picked:
    """A column of which rows are picked again and again."""

    def __init__(self, column: pl.Series) -> None:
        self._column = column
        self.name = column.name
        is_plain = column.dtype.is_integer() and not column.null_count()
        self._numbers = narrowed(column.to_numpy()) if is_plain else None
        self._of = column.to_numpy().dtype if is_plain else None

    def of(self, rows: Ids) -> pl.Series:
        if self._numbers is None:
            return take_values(self._column, rows)
        return pl.Series(self._numbers[rows].astype(self._of))


class Selections:
    """Rows of which several aggregates take some each; they differ in nothing else.

    `rows` are prepared, `cells` the groups of all of them with what else keeps partials apart, and
    `places` are columns that a cell has beside its groups. `of_partials`: the rows have partials
    already, of rows of which whoever takes one takes all.
    """

    def __init__(
        self,
        aggregates: AggregateSet,
        rows: pl.DataFrame,
        cells: Groups,
        places: Sequence[str],
        *,
        of_partials: bool = False,
    ) -> None:
        self._aggregates = aggregates
        self._rows, self._places = rows, places
        self._of_partials = of_partials
        names = aggregates.partials if of_partials else aggregates.arguments
        self._arguments = [Picked(rows.get_column(name)) for name in names]
        self._keys = {name: rows.get_column(name) for name in (*places, *aggregates.groups)}
        self.cells = cells
        self._cells, self._size = narrowed(cells.ids), cells.size

    def started(self, taken: Sequence[tuple[int, Ids]]) -> pl.DataFrame:
        """Partials of those rows that each takes: whose, and the places of the rows."""
        rows = np.concatenate([places for _, places in taken])
        firsts = np.arange(len(taken)) * self._size
        codes = np.repeat(firsts, [len(places) for _, places in taken])
        codes += self._cells[rows]
        found = Codes(codes, len(taken) * self._size).groups()
        values = {each.name: each.of(rows) for each in self._arguments}
        make = self._aggregates.merge if self._of_partials else self._aggregates.start_of
        partials = make(values, found)
        numbers = np.array([whose for whose, _ in taken])
        whose = pl.Series(numbers[codes[found.members] // self._size])
        return frame({WHOSE: whose, **take(self._keys, rows[found.members]), **partials})

    def condensed(self, alike: Groups) -> Selections:
        """The same of fewer rows: one for all that are alike, and so in one cell."""
        partials = self._aggregates.start(self._rows, alike)
        rows = frame(take(self._keys, alike.members) | partials)
        cells = Groups(self.cells.ids[alike.members], self.cells.size, self.cells.members)
        return Selections(self._aggregates, rows, cells, self._places, of_partials=True)


class Preaggregating(Operator):
    """An aggregate that keeps the same of rows, whoever makes it of them."""

    def preaggregated(self, rows: pl.DataFrame) -> pl.DataFrame:
        """What is kept of rows that are ready for it; it depends on no state of the aggregate."""
        raise NotImplementedError

    def absorb(self, folded: pl.DataFrame) -> None:
        """Add what is kept of rows, none of which is late."""
        raise NotImplementedError

    def merged(self, folded: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """What is kept of all rows together, of what is kept of some; it depends on no state."""
        raise NotImplementedError

    def selections(self, rows: pl.DataFrame, cells: Groups | None = None) -> Selections:
        """Rows that are ready for it, and for others that keep the same of those they take.

        `cells` are those of the rows, where another with the same groups and windows has them.
        """
        raise NotImplementedError

    def settled(self, started: pl.DataFrame) -> pl.DataFrame:
        """What selections have made of rows as it is kept; WHOSE is one of its groups."""
        raise NotImplementedError
