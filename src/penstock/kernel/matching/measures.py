"""Measures: what is computed of each match, for all matches of a block at once.

Leaves of the expressions become columns, one value per match: navigations are looked up by the
number of a row, aggregates are those of any GROUP BY, with the match as the group, in which rows of
other variables count as NULL. The rest is a projection.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from penstock.kernel.aggregates.keys import Codes
from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.expressions import compile_expression, project
from penstock.kernel.matching.lazy_dfa import Ints
from penstock.kernel.matching.search import Matches
from penstock.kernel.matching.sorted_rows import SortedRows
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Call, Case, Expression, Literal, Ref
from penstock.model.match import (
    Classifier,
    MatchAggregate,
    MatchDefinition,
    Navigation,
    leaves,
    replaced,
)
from penstock.model.types import Type

_VARIABLE = "__variable"


class Measures:
    """The results of matches: partition columns and measures."""

    def __init__(self, match: MatchDefinition) -> None:
        self._match = match
        asked = dict.fromkeys(leaf for each in match.measures for leaf in leaves(each))
        self._names = {leaf: f"__{number}" for number, leaf in enumerate(asked)}
        self._navigations = [leaf for leaf in asked if isinstance(leaf, Navigation)]
        aggregates = [leaf for leaf in asked if isinstance(leaf, MatchAggregate)]
        self._aggregates = AggregateSet(
            (), [(self._names[leaf], self._aggregate(leaf)) for leaf in aggregates]
        )
        self._columns = [
            compile_expression(replaced(each, lambda leaf: Ref(self._names[leaf], leaf.type)))  # type: ignore[index]
            for each in match.measures
        ]

    def _aggregate(self, leaf: MatchAggregate) -> Aggregate:
        """The aggregate over all rows of a match, of which only the variable's count."""
        given = leaf.aggregate
        if leaf.variable is None:
            return given
        number = Literal(self._match.variables.index(leaf.variable), Type.BIGINT)
        value = Literal(1, Type.INT) if given.argument is None else given.argument
        of_variable: Expression = Call("=", (Ref(_VARIABLE, Type.BIGINT), number))
        argument = Case(((of_variable, value),))
        return replace(given, argument=argument)

    def results(self, rows: SortedRows, matches: Matches) -> pl.DataFrame:
        """One row per match."""
        variables = np.array(matches.variables, dtype=np.int64)
        numbers, of = matches.row_numbers(), matches.match_numbers()
        count = len(matches.starts)
        columns = {
            self._names[leaf]: self._navigated(leaf, rows, numbers, of, variables, count)
            for leaf in self._navigations
        }
        if self._aggregates.parts:
            columns |= self._aggregated(rows, numbers, of, variables, count)
        if Classifier() in self._names:
            last = variables[np.cumsum(np.bincount(of, minlength=count)) - 1]
            names = pl.Series(self._match.variables)
            columns[self._names[Classifier()]] = names.gather(last)
        height = pl.Series("__match", np.arange(count))
        frame = pl.DataFrame([height, *(each.alias(name) for name, each in columns.items())])
        partition = list(self._match.partition)
        keys = rows.rows.select(partition)[matches.starts] if partition else None
        measured = project(frame, self._columns) if self._columns else None
        return pl.concat([each for each in (keys, measured) if each is not None], how="horizontal")

    def _navigated(
        self,
        leaf: Navigation,
        rows: SortedRows,
        numbers: Ints,
        of: Ints,
        variables: Ints,
        count: int,
    ) -> pl.Series:
        """A value in one row of each match; NULL where there is no such row."""
        if leaf.variable is not None:
            meant = variables == self._match.variables.index(leaf.variable)
            numbers, of = numbers[meant], of[meant]
        sizes = np.bincount(of, minlength=count)
        ends = np.cumsum(sizes)
        exists = sizes > leaf.offset
        places = ends - 1 - leaf.offset if leaf.last else ends - sizes + leaf.offset
        at = np.zeros(count, dtype=np.int64)
        at[exists] = numbers[places[exists]]
        exists &= rows.ranks[at] >= leaf.back
        at -= np.where(exists, leaf.back, 0)
        taken = rows.rows[at].with_columns(pl.Series("__exists", exists))
        value = pl.when(pl.col("__exists")).then(compile_expression(leaf.value))
        return taken.select(value.alias("x")).to_series()

    def _aggregated(
        self, rows: SortedRows, numbers: Ints, of: Ints, variables: Ints, count: int
    ) -> dict[str, pl.Series]:
        taken = rows.rows[numbers].with_columns(pl.Series(_VARIABLE, variables))
        prepared = self._aggregates.prepare(taken)
        partials = self._aggregates.start(prepared, Codes(of, count).groups())
        return self._aggregates.results(partials)
