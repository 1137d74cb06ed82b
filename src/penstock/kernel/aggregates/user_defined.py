"""Aggregates that users define, beside those that there are.

One that merges keeps its state as partials like any other, so it slides, is shared, folded early
and moved like them. If it can also be subtracted, a window follows from the one before; a count
goes with its state then, which tells where nothing is left. One that cannot be merged keeps its
rows, and adds them in order when a window closes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates.function import Function, PartialAggregate
from penstock.kernel.aggregates.grouping import Columns, Grouping
from penstock.kernel.aggregates.lists import GROUP, VALUE, Listed, unpack
from penstock.kernel.aggregates.sql_code import FoldedCode, StepwiseCode
from penstock.kernel.aggregates.user_code import RowByRow, UserCode, Vectorised
from penstock.kernel.types import polars_type
from penstock.model.aggregates import Aggregate
from penstock.model.sql_aggregates import SqlAggregate
from penstock.model.user_defined import UserAggregate

_AT = "at"


def user_code(of: UserAggregate) -> UserCode:
    """The code of an aggregate, however it is written."""
    if isinstance(of.code, SqlAggregate):
        return FoldedCode(of) if of.code.folded else StepwiseCode(of)
    return Vectorised(of) if of.vectorised else RowByRow(of)


@dataclass(frozen=True)
class UserPart(PartialAggregate):
    """The state of an aggregate that merges; `others` are the arguments behind the first."""

    others: tuple[str, ...] = ()
    user: UserAggregate | None = None

    @property
    def code(self) -> UserCode:
        assert self.user is not None
        return user_code(self.user)

    @property
    def columns(self) -> tuple[str, ...]:
        assert self.user is not None
        of = f"{self.user.name}({', '.join((self.argument or '', *self.others))})"
        names = [column.name for column in self.user.state]
        # Begins with a blank, as no name of a column does.
        counted = [" rows"] if self.user.subtracts else []
        return tuple(f"__{of}.{name}" for name in (*names, *counted))

    @property
    def reads(self) -> tuple[str, ...]:
        return (*super().reads, *self.others)

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        assert self.user is not None
        arguments = [rows[name] for name in (self.argument or "", *self.others)]
        states = self.code.start(arguments, groups)
        if not self.user.subtracts:
            return states
        gaps = [column.is_null() for column in arguments if column.null_count()]
        if not gaps:
            return *states, groups.count()
        there = np.logical_and.reduce([~gap.to_numpy() for gap in gaps])
        return *states, pl.Series(np.bincount(groups.ids[there], minlength=groups.size))

    def merge(self, partials: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        assert self.user is not None
        states, counts = self._split([partials[name] for name in self.columns])
        merged = self.code.merge(states, groups)
        return (*merged, groups.sum(counts)) if counts is not None else merged

    def subtract(self, kept: list[pl.Series], gone: list[pl.Series]) -> list[pl.Series]:
        """Partials without what has gone of each, place by place."""
        (states, counts), (others, fewer) = self._split(kept), self._split(gone)
        assert counts is not None
        assert fewer is not None
        left = counts.fill_null(0) - fewer.fill_null(0)
        nothing = left == 0
        # What is taken away whole is nothing again, whatever the code would make of it.
        gone_in_part = [column.set(nothing, None) for column in others]
        found = self.code.subtract(states, gone_in_part)
        return [*(column.set(nothing, None) for column in found), left]

    def result(self, partials: Columns) -> pl.Series:
        states, _ = self._split([partials[name] for name in self.columns])
        return self.code.result(states)

    def _split(self, partials: list[pl.Series]) -> tuple[list[pl.Series], pl.Series | None]:
        assert self.user is not None
        return (partials[:-1], partials[-1]) if self.user.subtracts else (partials, None)


@dataclass(frozen=True)
class KeptRows(Listed):
    """The arguments of all rows with their place, in order."""

    others: tuple[str, ...] = ()
    user: UserAggregate | None = None
    kinds = ("kept",)

    @property
    def columns(self) -> tuple[str, ...]:
        return (f"__kept({', '.join((self.argument or '', *self.others, self.by or ''))})",)

    @property
    def reads(self) -> tuple[str, ...]:
        return (*super().reads, *self.others)

    @property
    def element(self) -> pl.DataType:
        assert self.user is not None
        types = {str(n): polars_type(each.type) for n, each in enumerate(self.user.arguments)}
        return pl.Struct({_AT: pl.Int64(), **types})

    @property
    def fields(self) -> list[str]:
        return [str(n) for n in range(1 + len(self.others))]

    def elements(self, rows: Columns, groups: Grouping) -> pl.DataFrame:
        assert self.by is not None
        arguments = [rows[name] for name in (self.argument or "", *self.others)]
        named = [column.alias(str(n)) for n, column in enumerate(arguments)]
        at = rows[self.by].cast(pl.Int64).alias(_AT)
        found = pl.DataFrame([pl.Series(GROUP, groups.ids), at, *named]).drop_nulls()
        return found.select(GROUP, pl.struct(_AT, *self.fields).alias(VALUE))

    def arranged(self, rows: pl.DataFrame) -> pl.DataFrame:
        place = pl.col(VALUE).struct
        return rows.sort(GROUP, *(place.field(name) for name in (_AT, *self.fields)))


@dataclass(frozen=True)
class AddedInOrder(Function):
    """An aggregate that only adds: its rows are kept, and added in order for each answer."""

    others: tuple[str, ...] = ()
    user: UserAggregate | None = None

    @property
    def parts(self) -> tuple[KeptRows]:
        return (KeptRows(self.argument, self.of, self.by, (), self.others, self.user),)

    def result(self, partials: Columns) -> pl.Series:
        assert self.user is not None
        [part] = self.parts
        lists = partials[part.columns[0]]
        code, size = user_code(self.user), len(lists)
        rows = unpack(lists, np.arange(size))
        fields = rows.get_column(VALUE).struct.unnest()
        columns = [fields.get_column(name) for name in part.fields]
        ids = rows.get_column(GROUP).to_numpy()
        if not len(ids):
            return code.result(tuple(_nothing(self.user, size)))
        present, dense = np.unique(ids, return_inverse=True)
        states = code.start(columns, Grouping(dense.astype(np.int64), len(present)))
        if len(present) < size:
            places = np.full(size, len(present))
            places[present] = np.arange(len(present))
            nothing = _nothing(self.user, 1)
            both = zip(states, nothing, strict=True)
            states = tuple(pl.concat([state, none]).gather(places) for state, none in both)
        return code.result(states)


def _nothing(user: UserAggregate, size: int) -> list[pl.Series]:
    """So many states of no rows."""
    types = (polars_type(column.type) for column in user.state)
    return [pl.Series([None], dtype=of).new_from_index(0, size) for of in types]


def user_function(aggregate: Aggregate, columns: tuple[str, ...], by: str | None) -> Function:
    """An aggregate of a user over columns."""
    user = aggregate.user
    assert user is not None
    kind = UserPart if user.merges else AddedInOrder
    first, *others = columns
    return kind(first, user.arguments[0].type, by, (), tuple(others), user)
