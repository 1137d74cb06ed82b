"""Nodes that look at single rows: Select, Project, Union, Ordered, Numbered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.errors import CannotOrder, TypeMismatch
from penstock.model.expressions import Call, Expression, Named, Ref
from penstock.model.monotone import Monotone, monotone
from penstock.model.schema import ROW_NUM, Column, Schema
from penstock.model.types import Type, common_type
from penstock.plan.nodes.node import ChildColumn, Node, check_refs, passed_on

#: Types of times that no step can wrap around in.
_NEVER_WRAP = (Type.TIMESTAMP, Type.TIMESTAMP_NTZ, Type.BIGINT)


@dataclass(frozen=True)
class SameColumns(Node):
    """Rows of its input with the same columns, in the same order."""

    input: Node

    @property
    def schema(self) -> Schema:
        return self.input.schema

    def lineage(self, column: str) -> tuple[ChildColumn, ...]:
        return (ChildColumn(0, column),)

    @property
    def order(self) -> frozenset[str]:
        return self.input.order


@dataclass(frozen=True)
class Select(SameColumns):
    """The rows for which `predicate` is true (not false, not NULL)."""

    predicate: Expression

    def __post_init__(self) -> None:
        if self.predicate.type not in (Type.BOOLEAN, Type.NULL):
            raise TypeMismatch(
                f"`{self.predicate}` is {self.predicate.type}, and a condition must be BOOLEAN"
            )
        check_refs(self.input.schema, self.predicate)

    def reads(self, used: frozenset[str]) -> tuple[frozenset[str], ...]:
        return (used | self.predicate.refs,)

    @property
    def label(self) -> str:
        return f"Select {self.predicate}"


@dataclass(frozen=True)
class Project(Node):
    """The same rows with other columns; what is computed of a column and never falls when it rises
    keeps progressing."""

    input: Node
    columns: tuple[Named, ...]

    def __post_init__(self) -> None:
        for column in self.columns:
            check_refs(self.input.schema, column)
        _ = self.schema

    @cached_property
    def schema(self) -> Schema:
        return Schema.of(
            (Column(c.name, c.type) for c in self.columns),
            self.progress,
            (name for name, computed in self.progress.items() if computed.is_nullable),
        )

    @cached_property
    def progress(self) -> dict[str, Monotone]:
        """How bounds of the input go on: for each column that progresses, what becomes of them."""
        below = self.input.schema
        times = [c for c in self.columns if c.type.can_progress or c.type is Type.DATE]
        found = ((c.name, monotone(c.value, below.nullable)) for c in times)
        return {n: each for n, each in found if each and each.columns <= below.progressing}

    @cached_property
    def _by_name(self) -> dict[str, Expression]:
        return {column.name: column.value for column in self.columns}

    def lineage(self, column: str) -> tuple[ChildColumn, ...]:
        value = self._by_name[column]
        return (ChildColumn(0, value.name),) if isinstance(value, Ref) else ()

    @property
    def order(self) -> frozenset[str]:
        ordered = self.input.order
        latest = (name for name, value in self._by_name.items() if _is_greatest(value, ordered))
        kept = frozenset([*latest][:1]) or passed_on(self)
        if kept or len(ordered) != 1:
            return kept
        # What may wrap around breaks no bound, and is out of order.
        whole = (name for name in self.progress if self.schema[name].type in _NEVER_WRAP)
        return frozenset([n for n in whole if self.progress[n].columns == ordered][:1])

    def reads(self, used: frozenset[str]) -> tuple[frozenset[str], ...]:
        return (frozenset(ref for name in used for ref in self._by_name[name].refs),)

    @property
    def label(self) -> str:
        return f"Project {', '.join(map(str, self.columns))}"


@dataclass(frozen=True)
class Union(Node):
    """The rows of all inputs, duplicates kept. Columns match by position, named by the first.

    Streams number their rows separately, so behind a union `row_num` progresses no more.
    """

    parts: tuple[Node, ...]

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            raise TypeMismatch("a union needs at least two inputs")
        first = self.parts[0].schema
        for part in self.parts[1:]:
            if len(part.schema) != len(first):
                raise TypeMismatch(
                    f"the inputs of a union have {len(first)} and {len(part.schema)} columns",
                    hint=f"({first})  and  ({part.schema})",
                )
            for mine, theirs in zip(first, part.schema, strict=True):
                if common_type(mine.type, theirs.type) is None:
                    raise TypeMismatch(f"a union cannot put `{mine}` and `{theirs}` in one column")
        _ = self.schema

    @cached_property
    def schema(self) -> Schema:
        schemas = [part.schema for part in self.parts]
        columns, progressing, nullable = [], [], []
        for same in zip(*schemas, strict=True):
            name, of = same[0].name, same[0].type
            for other in same[1:]:
                common = common_type(of, other.type)
                assert common is not None  # checked when built
                of = common
            columns.append(Column(name, of))
            each = list(zip(same, schemas, strict=True))
            if name != ROW_NUM and all(c.name in schema.progressing for c, schema in each):
                progressing.append(name)
            if any(c.name in schema.nullable for c, schema in each):
                nullable.append(name)
        return Schema.of(columns, progressing, nullable)

    def lineage(self, column: str) -> tuple[ChildColumn, ...]:
        # Perhaps as a narrower type, of which the union's own has all values.
        place = self.schema.names.index(column)
        return tuple(ChildColumn(n, part.schema.names[place]) for n, part in enumerate(self.parts))

    @property
    def order(self) -> frozenset[str]:
        return passed_on(self)

    def reads(self, used: frozenset[str]) -> tuple[frozenset[str], ...]:
        places = [place for place, name in enumerate(self.schema.names) if name in used]
        return tuple(frozenset(part.schema.names[p] for p in places) for part in self.parts)

    @property
    def label(self) -> str:
        return "Union"


@dataclass(frozen=True)
class Ordered(SameColumns):
    """The same rows, in the order of a progressing column: a contract on how answers come."""

    on: str

    def __post_init__(self) -> None:
        schema = self.input.schema
        if schema[self.on].name not in schema.progressing:
            usable = [name for name in schema.names if name in schema.progressing]
            raise CannotOrder(
                f"cannot order by `{self.on}`: it does not progress, so no row could ever leave",
                hint=f"results can be ordered by: {', '.join(usable) or 'nothing'}",
            )

    @property
    def order(self) -> frozenset[str]:
        return frozenset((self.on,))

    def reads(self, used: frozenset[str]) -> tuple[frozenset[str], ...]:
        return (used | {self.on},)

    @property
    def label(self) -> str:
        return f"Ordered by {self.on}"


@dataclass(frozen=True)
class Numbered(SameColumns):
    """The same rows, numbered from 1 in the order in which they come here.

    Streams number their own rows; what a filter, a union or a join puts out has an order only where
    somebody reads it.
    """

    @cached_property
    def schema(self) -> Schema:
        below = self.input.schema
        return Schema.of(
            (*(c for c in below if c.name != ROW_NUM), Column(ROW_NUM, Type.BIGINT)),
            {*below.progressing, ROW_NUM},
            below.nullable,
        )

    def lineage(self, column: str) -> tuple[ChildColumn, ...]:
        return () if column == ROW_NUM else super().lineage(column)

    def reads(self, used: frozenset[str]) -> tuple[frozenset[str], ...]:
        # Something that progresses must stay, or nobody would tell that the rows are over.
        below = self.input.schema.progressing
        kept = frozenset() if used & below or not below else frozenset((min(below),))
        return (used - {ROW_NUM} | kept,)

    @property
    def label(self) -> str:
        return "Number rows"


def _is_greatest(value: Expression, columns: frozenset[str]) -> bool:
    """Whether it is the greatest of just these columns."""
    return (
        isinstance(value, Call)
        and value.function == "greatest"
        and all(isinstance(part, Ref) for part in value.args)
        and value.refs == columns
    )
