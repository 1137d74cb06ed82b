"""JoinSpec: what a window join computes, whichever algorithm does it.

`sides` are 0, left, and 1, right. Columns of both are called `name.column` from the moment a row
comes in, so that stored rows, results and conditions speak of the same names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from penstock.kernel.expressions import compile_expression
from penstock.kernel.joins.keys import computed_keys
from penstock.kernel.types import polars_type
from penstock.model.expressions import Call, Expression, Ref
from penstock.model.joins import JoinKind, qualified
from penstock.model.schema import Column
from penstock.windows import JoinBand


@dataclass(frozen=True)
class CarriedSpec:
    """A column that progresses beside the time of its input, and the bands that lead to it."""

    column: str
    bands: tuple[tuple[JoinBand, int], ...]


@dataclass(frozen=True)
class SideSpec:
    """One input: its name in the join, its columns as they come, and the one that carries time.

    One without a name is a join, whose columns keep their names. `carried` progress as well.
    """

    name: str
    columns: tuple[Column, ...]
    on: str
    carried: tuple[CarriedSpec, ...] = ()

    def column(self, name: str) -> str:
        """What a column is called in the join."""
        return qualified(self.name, name)

    @cached_property
    def names(self) -> list[str]:
        """What its columns are called in the join."""
        return [self.column(column.name) for column in self.columns]

    def named(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows as they come, under these names; one by one, which costs less than to ask Polars."""
        pairs = zip(self.columns, self.names, strict=True)
        return pl.DataFrame([rows.get_column(column.name).alias(name) for column, name in pairs])

    def qualified(self, part: Expression) -> Expression:
        """A part of an expression over its columns as they come, over the join's own."""
        return Ref(self.column(part.name), part.type) if isinstance(part, Ref) else part

    def ref(self, name: str) -> Ref:
        """The column as an expression over the join's own columns."""
        of = next(column.type for column in self.columns if column.name == name)
        return Ref(self.column(name), of)


def holds(condition: pl.Expr, rows: pl.DataFrame) -> pl.Series | None:
    """Of which rows a condition is true; None: of all, which is nearly always so."""
    if not rows.height:
        return None
    found = rows.select(condition).to_series().fill_null(False)
    return None if found.all() else found


@dataclass(frozen=True)
class Match:
    """What a row of one side and one of the other must satisfy to belong together."""

    sides: tuple[SideSpec, SideSpec]
    equalities: tuple[tuple[str, str], ...]
    residual: Expression | None

    @cached_property
    def keys(self) -> tuple[list[Expression], list[Expression]]:
        """What must be equal, of each side: the columns first, then what is computed."""
        left, right = self.sides
        pairs: list[tuple[Expression, Expression]] = [*self._columns]
        pairs += computed_keys(self.residual, left.names, right.names)
        return [mine for mine, _ in pairs], [theirs for _, theirs in pairs]

    @property
    def _columns(self) -> list[tuple[Ref, Ref]]:
        left, right = self.sides
        return [(left.ref(mine), right.ref(theirs)) for mine, theirs in self.equalities]

    @cached_property
    def _condition(self) -> pl.Expr | None:
        conditions: list[Expression] = [Call("=", pair) for pair in self._columns]
        conditions += [] if self.residual is None else [self.residual]
        return pl.all_horizontal(map(compile_expression, conditions)) if conditions else None

    def holds(self, pairs: pl.DataFrame) -> pl.Series | None:
        """Which pairs satisfy everything; None: all do, which is nearly always so."""
        return None if self._condition is None else holds(self._condition, pairs)

    def nothing(self, side: int) -> list[pl.Expr]:
        """NULL for every column of a side."""
        return [
            pl.lit(None, polars_type(column.type)).alias(self.sides[side].column(column.name))
            for column in self.sides[side].columns
        ]


@dataclass(frozen=True)
class JoinSpec:
    """Pairs of rows within a band that have equal keys and satisfy the residual condition."""

    sides: tuple[SideSpec, SideSpec]
    band: JoinBand
    equalities: tuple[tuple[str, str], ...] = ()
    residual: Expression | None = None
    kind: JoinKind = JoinKind.INNER

    @cached_property
    def match(self) -> Match:
        return Match(self.sides, self.equalities, self.residual)
