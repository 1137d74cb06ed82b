"""JoinSpec: what a window join computes, whichever algorithm does it.

`sides` are 0, left, and 1, right. Columns of both are called `name.column` from the moment a row
comes in, so that stored rows, results and conditions speak of the same names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.kernel.joins.keys import computed_keys
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

    @property
    def names(self) -> list[str]:
        """What its columns are called in the join."""
        return [self.column(column.name) for column in self.columns]

    def ref(self, name: str) -> Ref:
        """The column as an expression over the join's own columns."""
        of = next(column.type for column in self.columns if column.name == name)
        return Ref(self.column(name), of)


@dataclass(frozen=True)
class JoinSpec:
    """Pairs of rows within a band that have equal keys and satisfy the residual condition."""

    sides: tuple[SideSpec, SideSpec]
    band: JoinBand
    equalities: tuple[tuple[str, str], ...] = ()
    residual: Expression | None = None
    kind: JoinKind = JoinKind.INNER

    @cached_property
    def keys(self) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
        """What must be equal, of each side: the columns first, then what is computed."""
        left, right = self.sides
        computed = computed_keys(self.residual, left.names, right.names)
        return (
            (*(mine for mine, _ in self._columns), *(mine for mine, _ in computed)),
            (*(theirs for _, theirs in self._columns), *(theirs for _, theirs in computed)),
        )

    @property
    def _columns(self) -> list[tuple[Ref, Ref]]:
        left, right = self.sides
        return [(left.ref(mine), right.ref(theirs)) for mine, theirs in self.equalities]

    @cached_property
    def conditions(self) -> tuple[Expression, ...]:
        """Everything a pair within the band must satisfy."""
        equal = (Call("=", pair) for pair in self._columns)
        return (*equal, *(() if self.residual is None else (self.residual,)))
