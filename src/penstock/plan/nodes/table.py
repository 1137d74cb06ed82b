"""Static tables: Table, and TableJoin, which puts rows of a stream with those of one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.errors import CannotJoin
from penstock.model.expressions import Expression
from penstock.model.joins import JoinKind, qualified
from penstock.model.schema import Column, Schema
from penstock.model.tables import StaticTable
from penstock.plan.nodes.node import ChildColumn, Leaf, Node, check_pair, check_refs, passed_on


@dataclass(frozen=True)
class Table(Leaf):
    """A static table by itself: what a name in FROM can stand for, and no answer of a query."""

    table: StaticTable

    @cached_property
    def schema(self) -> Schema:
        return self.table.schema

    @property
    def order(self) -> frozenset[str]:
        return frozenset()

    @property
    def label(self) -> str:
        return f"Table {self.table.name}"


@dataclass(frozen=True)
class TableJoin(Node):
    """Rows of a stream with the rows of a static table that match them; there is no window.

    Columns come out as `name.column`; a stream without a name is a join, whose columns have such
    names already. All that progresses goes on progressing.
    """

    input: Node
    table: StaticTable
    names: tuple[str, str]
    equalities: tuple[tuple[str, str], ...] = ()
    residual: Expression | None = None  # over the columns of both
    filter: Expression | None = None  # over the table's columns, as the join calls them
    kind: JoinKind = JoinKind.INNER

    def __post_init__(self) -> None:
        if self.kind.keeps_alone(1):
            raise CannotJoin(
                f"cannot output the rows of table `{self.table.name}` without a partner: a partner "
                "may always come, so none of them could ever leave",
                hint="put the stream on the side that is kept: stream LEFT JOIN table",
            )
        for left, right in self.equalities:
            check_pair(self.input.schema[left], self.table.schema[right])
        for condition in (self.residual, self.filter):
            if condition is not None:
                check_refs(self._both, condition)

    @cached_property
    def _both(self) -> Schema:
        sides = zip(self.names, (self.input.schema, self.table.schema), strict=True)
        return Schema.of(
            (Column(qualified(name, c.name), c.type) for name, schema in sides for c in schema),
            (qualified(self.names[0], on) for on in self.input.schema.progressing),
            (qualified(self.names[0], on) for on in self.input.schema.nullable),
        )

    @cached_property
    def schema(self) -> Schema:
        if self.kind.is_one_sided:
            columns = self._both.columns[: len(self.input.schema)]
            return Schema(columns, self._both.progressing, self._both.nullable)
        return self._both

    def lineage(self, column: str) -> tuple[ChildColumn, ...]:
        stream, table = self.names
        for own in self.input.schema.names:
            if column == qualified(stream, own):
                return (ChildColumn(0, own),)
        if self.kind is not JoinKind.INNER:
            return ()  # NULL where there is no partner
        return tuple(
            ChildColumn(0, mine)
            for mine, theirs in self.equalities
            if column == f"{table}.{theirs}"
            and self.input.schema[mine].type is self.table.schema[theirs].type
        )

    @property
    def order(self) -> frozenset[str]:
        return passed_on(self)

    def reads(self, used: frozenset[str]) -> tuple[frozenset[str], ...]:
        name = self.names[0]
        tested = frozenset() if self.residual is None else self.residual.refs
        read = {c for c in self.input.schema.names if qualified(name, c) in used | tested}
        return (frozenset(read | {mine for mine, _ in self.equalities}),)

    @property
    def label(self) -> str:
        left, right = self.names
        terms = [f"{qualified(left, a)} = {right}.{b}" for a, b in self.equalities]
        terms += [str(c) for c in (self.filter, self.residual) if c is not None]
        where = f" where {' AND '.join(terms)}" if terms else ""
        kind = "" if self.kind is JoinKind.INNER else f"{self.kind.value} "
        of = "" if right == self.table.name else f" ({self.table.name})"
        stream = f"{left}, " if left else ""
        return f"TableJoin {kind}{stream}table {right}{of}{where}"
