"""Aggregates that are written in SQL, for many groups at once.

One that is folded is a few sums and extremes per group, like those that are built in. Any other is
run as it is written: the first rows of all groups run INITIALIZE in one step, then the second rows
of all groups run ITERATE, and so on; a local table holds the rows of all groups, and their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Grouping
from penstock.kernel.aggregates.user_code import Members, Series, UserCode
from penstock.kernel.expressions import compile_expression
from penstock.kernel.types import polars_type
from penstock.model.expressions import Expression, Named
from penstock.model.schema import Column
from penstock.model.sql_aggregates import (
    RETURN,
    Delete,
    Insert,
    LocalStatement,
    SqlAggregate,
    Update,
)
from penstock.model.user_defined import UserAggregate, code_of

#: The number of the group that a row of a local table belongs to.
_GROUP = " group"
_THERE = " there"


class FoldedCode(UserCode):
    """One whose columns are sums and extremes."""

    @property
    def _body(self) -> SqlAggregate:
        body: SqlAggregate = code_of(self.of)
        return body

    def _start(self, arguments: Series, groups: Grouping) -> tuple[pl.Series, ...]:
        columns = zip(self.of.arguments, arguments, strict=True)
        rows = pl.DataFrame([column.alias(each.name) for each, column in columns])
        terms = rows.select(
            compile_expression(each.term).alias(str(n)) for n, each in enumerate(self._body.folded)
        )
        height = rows.height
        found = [c.new_from_index(0, height) if len(c) < height else c for c in terms]
        return self._of(found, groups)

    def _merge(self, states: Series, groups: Grouping) -> tuple[pl.Series, ...]:
        return self._of(states, groups)

    def _of(self, columns: Series, groups: Grouping) -> tuple[pl.Series, ...]:
        members = Members(groups.ids, groups.size)
        ways = {"sum": members.sum, "least": members.least, "greatest": members.greatest}
        pairs = zip(self._body.folded, columns, self._types, strict=True)
        return tuple(ways[each.how](column).cast(of) for each, column, of in pairs)

    def _subtract(self, states: Series, gone: Series) -> tuple[pl.Series, ...]:
        return tuple(one - other for one, other in zip(states, gone, strict=True))

    def _result(self, states: Series) -> pl.Series:
        answer = self._body.answer
        assert answer is not None
        pairs = zip(self.of.state, states, strict=True)
        rows = pl.DataFrame([column.alias(each.name) for each, column in pairs])
        found = rows.with_columns(compile_expression(answer).alias(_GROUP))
        answers: pl.Series = found.get_column(_GROUP).cast(polars_type(self.of.returns))
        return answers

    def _of_nothing(self) -> pl.Series:
        return pl.Series([None], dtype=polars_type(self.of.returns))


class StepwiseCode(UserCode):
    """One that is run as it is written; its state is its result."""

    def _start(self, arguments: Series, groups: Grouping) -> tuple[pl.Series, ...]:
        body: SqlAggregate = code_of(self.of)
        tables = LocalTables(self.of, body)
        named = zip(self.of.arguments, arguments, strict=True)
        rows = pl.DataFrame([pl.Series(_GROUP, groups.ids), *(c.alias(a.name) for a, c in named)])
        order = np.argsort(groups.ids, kind="stable")
        first = np.searchsorted(groups.ids[order], np.arange(groups.size))
        lengths = np.bincount(groups.ids, minlength=groups.size)
        for step in range(int(lengths.max())):
            now = rows[order[first[lengths > step] + step]]
            tables.run(body.iterate if step else body.initialize, now)
        last = rows[order[first + lengths - 1]]
        tables.run(body.terminate, last)
        return (tables.results(groups.size),)

    def _result(self, states: Series) -> pl.Series:
        return states[0]

    def _of_nothing(self) -> pl.Series:
        return pl.Series([None], dtype=polars_type(self.of.returns))


class LocalTables:
    """The local tables of all groups while their rows are gone through."""

    def __init__(self, of: UserAggregate, body: SqlAggregate) -> None:
        self._arguments = [column.name for column in of.arguments]
        self._columns = {table.name: table.columns for table in body.tables}
        self._columns[RETURN] = of.state
        self._tables = {name: _empty(columns) for name, columns in self._columns.items()}
        self._compiled: dict[Expression, pl.Expr] = {}

    def run(self, statements: Sequence[LocalStatement], now: pl.DataFrame) -> None:
        """Carry out statements for groups, each with the arguments of one row."""
        for each in statements:
            table = self._tables[each.table]
            match each:
                case Insert():
                    new = self._inserted(each, now)
                    self._tables[each.table] = pl.concat([table, new]) if new.height else table
                case Update():
                    self._tables[each.table] = self._updated(each, table, now)
                case Delete():
                    found = self._with_arguments(table, now)
                    gone = pl.col(_THERE).is_not_null() & self._where(each)
                    self._tables[each.table] = found.filter(~gone).select(table.columns)

    def results(self, size: int) -> pl.Series:
        """The last value that each group has put out; NULL, if it has none."""
        found = self._tables[RETURN].unique(_GROUP, keep="last")
        everyone = pl.DataFrame({_GROUP: np.arange(size)})
        rows = everyone.join(found, on=_GROUP, how="left", maintain_order="left")
        return rows.to_series(1)

    def _inserted(self, insert: Insert, now: pl.DataFrame) -> pl.DataFrame:
        if insert.source is None:
            rows = now
        else:
            rows = self._tables[insert.source].join(
                now, on=_GROUP, how="inner", maintain_order="left"
            )
        rows = rows.filter(self._where(insert)) if insert.where is not None else rows
        if insert.aggregates:
            rows = self._aggregated(insert, rows, now)
        values = [self._compile(each).alias(f" {n}") for n, each in enumerate(insert.values)]
        names = {f" {n}": each.name for n, each in enumerate(insert.values)}
        found = rows.with_columns(values).select(_GROUP, *names).rename(names)
        return found.cast(dict(_schema(self._columns[insert.table])))

    def _aggregated(self, insert: Insert, rows: pl.DataFrame, now: pl.DataFrame) -> pl.DataFrame:
        """One row for each group: its arguments, and what aggregates over its rows come to."""
        from penstock.kernel.aggregation.aggregate_set import AggregateSet
        from penstock.kernel.aggregation.align_windows import over_nothing

        together = AggregateSet((_GROUP,), insert.aggregates)
        nothing = {name: over_nothing(aggregate) for name, aggregate in insert.aggregates}
        if rows.height:
            rows = together.prepare(rows)
            groups, members = np.unique(rows.get_column(_GROUP).to_numpy(), return_inverse=True)
            partials = together.start(rows, Grouping(members.astype(np.int64), len(groups)))
            found = pl.DataFrame({_GROUP: groups, **together.results(partials)})
        else:
            found = pl.DataFrame({_GROUP: pl.Series([], dtype=pl.Int64)}).with_columns(
                value.clear().alias(name) for name, value in nothing.items()
            )
        joined = now.join(found, on=_GROUP, how="left", maintain_order="left")
        return joined.with_columns(
            pl.col(name).fill_null(pl.lit(value.item(), value.dtype))
            for name, value in nothing.items()
            if value.item() is not None
        )

    def _updated(self, update: Update, table: pl.DataFrame, now: pl.DataFrame) -> pl.DataFrame:
        rows = self._with_arguments(table, now)
        changed = pl.col(_THERE).is_not_null() & self._where(update)
        types = dict(_schema(self._columns[update.table]))
        rows = rows.with_columns(
            pl.when(changed)
            .then(self._compile(each).cast(types[each.name]))
            .otherwise(pl.col(each.name))
            .alias(each.name)
            for each in update.values
        )
        return rows.select(table.columns)

    def _with_arguments(self, table: pl.DataFrame, now: pl.DataFrame) -> pl.DataFrame:
        """Rows of a table with the arguments of their group, where it has a row now."""
        marked = now.with_columns(pl.lit(True).alias(_THERE))
        return table.join(marked, on=_GROUP, how="left", maintain_order="left")

    def _where(self, statement: LocalStatement) -> pl.Expr:
        if statement.where is None:
            return pl.lit(True)
        return self._compile(statement.where).fill_null(False)

    def _compile(self, expression: Expression) -> pl.Expr:
        if expression not in self._compiled:
            value = expression.value if isinstance(expression, Named) else expression
            self._compiled[expression] = compile_expression(value)
        return self._compiled[expression]


def _schema(columns: Sequence[Column]) -> list[tuple[str, pl.DataType]]:
    return [(column.name, polars_type(column.type)) for column in columns]


def _empty(columns: Sequence[Column]) -> pl.DataFrame:
    return pl.DataFrame(schema=dict([(_GROUP, pl.Int64()), *_schema(columns)]))
