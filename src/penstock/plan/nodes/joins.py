"""WindowJoin: pairs of rows that lie near each other in time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.errors import CannotJoin, TypeMismatch
from penstock.model.expressions import Expression
from penstock.model.joins import JoinKind
from penstock.model.schema import Column, Schema
from penstock.model.types import common_type
from penstock.plan.nodes.node import ChildColumn, Node, check_progress, check_refs
from penstock.windows import Band, TumblingBand


@dataclass(frozen=True)
class WindowJoin(Node):
    """Pairs of rows that lie within a band of time and match.

    Columns come out as `name.column`. Both timestamps stay, and both progress.
    """

    left: Node
    right: Node
    names: tuple[str, str]
    on: tuple[str, str]  # the progressing column of each side
    band: Band | TumblingBand
    equalities: tuple[tuple[str, str], ...] = ()
    residual: Expression | None = None  # over the output columns
    kind: JoinKind = JoinKind.INNER

    def __post_init__(self) -> None:
        if self.names[0] == self.names[1]:
            raise CannotJoin(
                f"both sides of the join are called `{self.names[0]}`",
                hint=f"name one of them: {self.names[0]} AS other",
            )
        for side, on in zip(self.children, self.on, strict=True):
            check_progress(side, on)
        for left, right in self.equalities:
            mine, theirs = self.left.schema[left], self.right.schema[right]
            if common_type(mine.type, theirs.type) is None:
                raise TypeMismatch(f"cannot compare `{mine}` with `{theirs}`")
        if self.residual is not None:
            check_refs(self._both, self.residual)

    @cached_property
    def _both(self) -> Schema:
        return Schema.of(
            (
                Column(f"{name}.{column.name}", column.type)
                for name, side in zip(self.names, self.children, strict=True)
                for column in side.schema
            ),
            (f"{name}.{on}" for name, on in zip(self.names, self.on, strict=True)),
            (
                f"{self.names[side]}.{self.on[side]}"
                for side in (0, 1)
                if self.kind.keeps_alone(1 - side)
                or self.on[side] in self.children[side].schema.nullable
            ),
        )

    @cached_property
    def schema(self) -> Schema:
        if self.kind in (JoinKind.SEMI, JoinKind.ANTI):
            on = f"{self.names[0]}.{self.on[0]}"
            left = self._both.columns[: len(self.left.schema)]
            return Schema.of(left, (on,), (on,) if self.on[0] in self.left.schema.nullable else ())
        return self._both

    def lineage(self, column: str) -> tuple[ChildColumn, ...]:
        [(child, own)] = (
            (number, column.removeprefix(f"{name}."))
            for number, name in enumerate(self.names)
            if column.startswith(f"{name}.")
        )
        if self.kind.keeps_alone(1 - child):
            return ()  # NULL where there is no partner
        mine, theirs = self.children[child].schema, self.children[1 - child].schema
        equal = (
            ChildColumn(1 - child, pair[1 - child])
            for pair in self.equalities
            if pair[child] == own and mine[own].type is theirs[pair[1 - child]].type
        )
        return (ChildColumn(child, own), *equal)

    @property
    def order(self) -> str | None:
        return None

    def reads(self, used: frozenset[str]) -> tuple[frozenset[str], ...]:
        tested = frozenset() if self.residual is None else self.residual.refs
        sides = []
        for number, (name, child) in enumerate(zip(self.names, self.children, strict=True)):
            read = {c for c in child.schema.names if f"{name}.{c}" in used | tested}
            keys = {pair[number] for pair in self.equalities}
            sides.append(frozenset(read | keys | {self.on[number]}))
        return tuple(sides)

    @property
    def label(self) -> str:
        left, right = self.names
        terms = [f"{left}.{a} = {right}.{b}" for a, b in self.equalities]
        if self.residual is not None:
            terms.append(str(self.residual))
        where = f" where {' AND '.join(terms)}" if terms else ""
        kind = "" if self.kind is JoinKind.INNER else f"{self.kind.value} "
        return f"WindowJoin {kind}{left}, {right} {self.band}{where}"
