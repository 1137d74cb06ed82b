"""AggregateSet: the functions of one aggregate, computed together for many groups at once.

Every algorithm of window aggregation keeps partials per group and something else: a window, a range
of windows, a pane, a session. What it does with the partials is the same and stands here: make them
of rows, join them, and read the results off them. Parts that several functions need are kept once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
import polars as pl

from penstock.kernel.aggregates import function_of
from penstock.kernel.aggregates.function import Function, PartialAggregate
from penstock.kernel.aggregates.grouping import Columns, Grouping, Ids, take
from penstock.kernel.aggregates.keys import Codes, Groups, code_column, code_integers, combine
from penstock.kernel.aggregates.user_defined import user_function
from penstock.kernel.aggregation.wid.overlay import repeat_ranges
from penstock.kernel.expressions import compile_expression
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Expression, Ref

#: Groups and partials, with the number that goes with each.
Numbered: TypeAlias = tuple[dict[str, pl.Series], Ids]


class AggregateSet:
    """The results of `groups`; `partials` are kept of each, made from the columns `arguments`."""

    def __init__(self, groups: Sequence[str], results: Sequence[tuple[str, Aggregate]]) -> None:
        self.groups = list(groups)
        self._computed: dict[str, pl.Expr] = {}
        self._functions = {name: self._function(aggregate) for name, aggregate in results}
        functions = self._functions.values()
        self._what = (*groups, *functions)
        self.parts: list[PartialAggregate] = []
        self.keep(*(part for function in functions for part in function.parts))

    def keep(self, *parts: PartialAggregate) -> None:
        """Keep these, too."""
        self.parts = list(dict.fromkeys((*self.parts, *parts)))
        self.arguments = {name for part in self.parts for name in part.reads}
        self.partials = [name for part in self.parts for name in part.columns]

    def _function(self, aggregate: Aggregate) -> Function:
        argument, by = aggregate.argument, aggregate.by
        if aggregate.user is not None:
            columns = tuple(map(self._column, aggregate.arguments))
            return user_function(aggregate, columns, None if by is None else self._column(by))
        of = None if argument is None else argument.type
        return function_of(aggregate.function, of)(
            None if argument is None else self._column(argument),
            of,
            None if by is None else self._column(by),
            aggregate.parameters,
        )

    def _column(self, expression: Expression) -> str:
        """The column that holds an expression's value."""
        if isinstance(expression, Ref):
            return expression.name
        name = f"__{expression}"
        self._computed[name] = compile_expression(expression)
        return name

    def alike(self, other: AggregateSet) -> bool:
        """Whether the other has the same functions of the same groups, if under other names."""
        return self._what == other._what

    def counterparts(self, other: AggregateSet) -> dict[str, str] | None:
        """By partial, the one that another set keeps for the results of the same names.

        None: they keep partials in another form, as sums of longer decimals in more pieces.
        """
        found: dict[str, str] = {}
        for name, function in self._functions.items():
            mine = [column for part in function.parts for column in part.columns]
            theirs = [column for part in other._functions[name].parts for column in part.columns]
            if len(mine) != len(theirs):
                return None
            found |= zip(mine, theirs, strict=True)
        return found

    def prepare(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with what the functions are of as columns."""
        return rows.with_columns(**self._computed) if self._computed else rows

    def start(self, rows: pl.DataFrame, groups: Grouping) -> dict[str, pl.Series]:
        """Partials of prepared rows, one per group."""
        return self.start_of({name: rows.get_column(name) for name in self.arguments}, groups)

    def start_of(self, arguments: Columns, groups: Grouping) -> dict[str, pl.Series]:
        """The same of what the functions are of."""
        return self._named(part.start(arguments, groups) for part in self.parts)

    def merge(self, partials: Columns, groups: Grouping) -> dict[str, pl.Series]:
        """Partials of partials, one per group."""
        return self._named(part.merge(partials, groups) for part in self.parts)

    def cells(self, columns: Columns, *digits: Codes, leading: bool = False) -> Groups:
        """Rows of one group that agree in `digits`, which count behind or, `leading`, before it."""
        keys = [code_column(columns[name]) for name in self.groups]
        codes = (*digits, *keys) if leading else (*keys, *digits)
        return combine(codes, len(digits[0].codes)).groups()

    def started(self, rows: pl.DataFrame, cells: Groups) -> dict[str, pl.Series]:
        """Groups and partials of prepared rows, one per cell."""
        keys = {name: rows.get_column(name) for name in self.groups}
        return take(keys, cells.members) | self.start(rows, cells)

    def merged(self, columns: Columns, cells: Groups) -> dict[str, pl.Series]:
        """Groups and partials of groups and partials, one per cell."""
        return take(self.keys(columns), cells.members) | self.merge(columns, cells)

    def started_by(self, rows: pl.DataFrame, numbers: Ids, *, leading: bool = False) -> Numbered:
        """Groups and partials of prepared rows by group and number, and these numbers."""
        cells = self.cells(rows.to_dict(), code_integers(numbers), leading=leading)
        return self.started(rows, cells), numbers[cells.members]

    def merged_by(self, columns: Columns, numbers: Ids, *, leading: bool = False) -> Numbered:
        """Groups and partials of groups and partials by group and number, and these numbers."""
        cells = self.cells(columns, code_integers(numbers), leading=leading)
        return self.merged(columns, cells), numbers[cells.members]

    def windows(
        self, columns: Columns, first: Ids, stop: Ids, *, leading: bool = False
    ) -> Numbered | None:
        """Partials of windows, where those of `columns` are in windows first … stop - 1 each."""
        lengths = np.maximum(stop - first, 0)
        if not lengths.any():
            return None
        spread = take(columns, np.repeat(np.arange(len(lengths)), lengths))
        return self.merged_by(spread, repeat_ranges(first, lengths), leading=leading)

    def answers(self, columns: Columns) -> dict[str, pl.Series]:
        """Groups with their results."""
        return self.keys(columns) | self.results(columns)

    def results(self, partials: Columns) -> dict[str, pl.Series]:
        """The answer for each row of partials, under the names of the query."""
        return {name: function.result(partials) for name, function in self._functions.items()}

    def keys(self, columns: Columns) -> dict[str, pl.Series]:
        return {name: columns[name] for name in self.groups}

    def kept(self, columns: Columns) -> dict[str, pl.Series]:
        return {name: columns[name] for name in self.partials}

    def _named(self, partials: Iterable[tuple[pl.Series, ...]]) -> dict[str, pl.Series]:
        return dict(zip(self.partials, chain.from_iterable(partials), strict=True))
