"""The nodes of a logical plan. A node that exists is valid.

    node             rows of its answer
    Source           a stream, as it comes
    Select           those for which a predicate holds
    Project          the same, with other columns
    Union            those of all inputs
    WindowAggregate  one per group and window
    WindowJoin       one per pair that matches within a band of time
    TableJoin        one per row of a stream and row of a static table that match
    Ordered          the same, in the order of a column

Nodes are frozen and compare by content, so two queries that ask for the same thing hold equal
sub-plans, and whoever builds the running graph can make one operator of them (`sharing`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from penstock.errors import CannotJoin, CannotOrder, CannotWindow, TypeMismatch
from penstock.model.aggregates import Aggregate
from penstock.model.emit import Emit
from penstock.model.expressions import Expression, Named, Ref
from penstock.model.joins import JoinKind
from penstock.model.schema import IS_FINAL, ROW_NUM, WINDOW_END, WINDOW_START, Column, Schema
from penstock.model.streams import Stream
from penstock.model.tables import StaticTable
from penstock.model.types import Type, common_type
from penstock.windows import (
    Band,
    Cumulating,
    Landmark,
    Partitioned,
    Session,
    Sliding,
    TumblingBand,
    Window,
    ends_with,
)

#: Where a node keeps its hash.
_HASH = "_hash"


@dataclass(frozen=True)
class Node:
    """Root of all nodes.

    A plan is looked up by content again and again, and each look at a node is one at everything
    below it. So its hash is computed once; it is not sent to other processes, where texts have
    other hashes.
    """

    def __init_subclass__(cls) -> None:
        # Before the decorator looks, which would make one of its own for every class.
        cls.__hash__ = Node.__hash__  # type: ignore[method-assign]

    def __hash__(self) -> int:
        known: int | None = self.__dict__.get(_HASH)
        if known is None:
            known = hash((type(self), *(getattr(self, f.name) for f in fields(self) if f.compare)))
            object.__setattr__(self, _HASH, known)
        return known

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != _HASH}

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    @property
    def schema(self) -> Schema:
        raise NotImplementedError

    @property
    def label(self) -> str:
        """One line for `explain`."""
        raise NotImplementedError


@dataclass(frozen=True)
class Source(Node):
    """A stream, as it comes: its declared columns and `row_num`."""

    stream: Stream

    @cached_property
    def schema(self) -> Schema:
        return self.stream.schema

    @property
    def label(self) -> str:
        return f"Source {self.stream.name} ({self.stream.disorder()})"


@dataclass(frozen=True)
class Select(Node):
    """The rows for which `predicate` is true (not false, not NULL)."""

    input: Node
    predicate: Expression

    def __post_init__(self) -> None:
        if self.predicate.type not in (Type.BOOLEAN, Type.NULL):
            raise TypeMismatch(
                f"`{self.predicate}` is {self.predicate.type}, and a condition must be BOOLEAN"
            )
        _check_refs(self.input, self.predicate)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def label(self) -> str:
        return f"Select {self.predicate}"


@dataclass(frozen=True)
class Project(Node):
    """The same rows with other columns; a column passed on unchanged keeps progressing."""

    input: Node
    columns: tuple[Named, ...]

    def __post_init__(self) -> None:
        for column in self.columns:
            _check_refs(self.input, column)
        _ = self.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        return Schema.of(
            (Column(c.name, c.type) for c in self.columns),
            (
                c.name
                for c in self.columns
                if isinstance(c.value, Ref) and c.value.name in self.input.schema.progressing
            ),
        )

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

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts

    @cached_property
    def schema(self) -> Schema:
        columns = []
        progressing = []
        for position, first in enumerate(self.parts[0].schema):
            of = first.type
            for part in self.parts[1:]:
                common = common_type(of, part.schema.columns[position].type)
                assert common is not None  # checked when built
                of = common
            columns.append(Column(first.name, of))
            if first.name != ROW_NUM and all(
                part.schema.names[position] in part.schema.progressing for part in self.parts
            ):
                progressing.append(first.name)
        return Schema.of(columns, progressing)

    @property
    def label(self) -> str:
        return "Union"


@dataclass(frozen=True)
class Result:
    """One aggregate of a WindowAggregate, under its output name.

    `window` is its own, where it has another one than the rest.
    """

    name: str
    aggregate: Aggregate
    window: Sliding | None = None

    def __str__(self) -> str:
        own = "" if self.window is None else f" {self.window}"
        return f"{self.aggregate}{own} AS {self.name}"


@dataclass(frozen=True)
class WindowAggregate(Node):
    """One row per group and window: `agg(x) [RANGE r, SLIDE s, WA on]`.

    Results may have shorter windows of their own that end together with it: then one row per group
    and end where any of them has rows.
    """

    input: Node
    window: Window
    groups: tuple[str, ...]
    results: tuple[Result, ...]
    emit: Emit | None = None  # None: on window close

    def __post_init__(self) -> None:
        available = self.input.schema
        if self.emit is not None:
            self._check_emit(self.emit)
        for result in self.results:
            if result.window is not None:
                self._check_own(result.window)
        for name in self.groups:
            _ = available[name]
        for name in self.window.columns():
            _ = available[name]
        for result in self.results:
            for name in result.aggregate.refs:
                _ = available[name]
        check_progress(self.input, self.window.on)
        if isinstance(self.window, (Partitioned, Session)):
            for name in self.window.partition:
                if name not in self.groups:
                    raise CannotWindow(
                        f"windows of each `{name}` need a group for each `{name}`",
                        hint=f"add {name} to GROUP BY",
                    )
        _ = self.schema

    @property
    def apart(self) -> tuple[WindowAggregate, ...]:
        """One aggregate for each of its windows, the longest first."""
        if not self.has_several_windows:
            return (self,)
        by_window: dict[Window, list[Result]] = {self.window: []}
        for result in self.results:
            by_window.setdefault(result.window or self.window, []).append(
                Result(result.name, result.aggregate)
            )
        return tuple(
            WindowAggregate(self.input, window, self.groups, tuple(results))
            for window, results in by_window.items()
        )

    @property
    def has_several_windows(self) -> bool:
        return any(result.window is not None for result in self.results)

    def _check_own(self, own: Sliding) -> None:
        longest = self.window
        if not isinstance(longest, Sliding) or not ends_with(own, longest):
            raise CannotWindow(
                f"{own} and {longest} do not end together, so their results have no row in common",
                hint="give them the same SLIDE and attribute, or write one query for each window",
            )

    def _check_emit(self, emit: Emit) -> None:
        if self.has_several_windows:
            raise CannotWindow(
                f"{emit} is not offered for several windows in one query",
                hint="leave EMIT out, or write one query for each window",
            )
        if not isinstance(self.window, (Sliding, Landmark, Cumulating)):
            raise CannotWindow(
                f"{emit} is not offered for {self.window}: "
                "rows yet to come decide which of its windows there are",
                hint="leave EMIT out, or use a sliding, landmark or cumulating window",
            )
        if IS_FINAL in (*self.groups, *(result.name for result in self.results)):
            raise CannotWindow(
                f"`{IS_FINAL}` is taken: it tells early results from final ones",
                hint="rename the column",
            )

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        on = self.input.schema[self.window.on].type
        bound_type = Type.TIMESTAMP if on is Type.TIMESTAMP else Type.BIGINT
        return Schema.of(
            (
                *(self.input.schema[name] for name in self.groups),
                *(Column(r.name, r.aggregate.type) for r in self.results),
                Column(WINDOW_START, bound_type),
                Column(WINDOW_END, bound_type),
                *(() if self.emit is None else (Column(IS_FINAL, Type.BOOLEAN),)),
            ),
            (
                end
                for end, progresses in zip(
                    (WINDOW_START, WINDOW_END), self.window.progresses, strict=True
                )
                if progresses
            ),
        )

    @property
    def label(self) -> str:
        by = f" by {', '.join(self.groups)}" if self.groups else ""
        emit = "" if self.emit is None else f" {self.emit}"
        return f"WindowAggregate {', '.join(map(str, self.results))}{by} {self.window}{emit}"


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
        for side, on in zip(self.inputs, self.on, strict=True):
            check_progress(side, on)
        for left, right in self.equalities:
            mine, theirs = self.left.schema[left], self.right.schema[right]
            if common_type(mine.type, theirs.type) is None:
                raise TypeMismatch(f"cannot compare `{mine}` with `{theirs}`")
        if self.residual is not None:
            _check_refs_in(self._both, self.residual)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @cached_property
    def _both(self) -> Schema:
        return Schema.of(
            (
                Column(f"{name}.{column.name}", column.type)
                for name, side in zip(self.names, self.inputs, strict=True)
                for column in side.schema
            ),
            (f"{name}.{on}" for name, on in zip(self.names, self.on, strict=True)),
        )

    @cached_property
    def schema(self) -> Schema:
        if self.kind in (JoinKind.SEMI, JoinKind.ANTI):
            left = self._both.columns[: len(self.left.schema)]
            return Schema.of(left, (f"{self.names[0]}.{self.on[0]}",))
        return self._both

    @property
    def label(self) -> str:
        left, right = self.names
        terms = [f"{left}.{a} = {right}.{b}" for a, b in self.equalities]
        if self.residual is not None:
            terms.append(str(self.residual))
        where = f" where {' AND '.join(terms)}" if terms else ""
        kind = "" if self.kind is JoinKind.INNER else f"{self.kind.value} "
        return f"WindowJoin {kind}{left}, {right} {self.band}{where}"


@dataclass(frozen=True)
class Table(Node):
    """A static table by itself: what a name in FROM can stand for, and no answer of a query."""

    table: StaticTable

    @cached_property
    def schema(self) -> Schema:
        return self.table.schema

    @property
    def label(self) -> str:
        return f"Table {self.table.name}"


@dataclass(frozen=True)
class TableJoin(Node):
    """Rows of a stream with the rows of a static table that match them; there is no window.

    Columns come out as `name.column`. All that progresses goes on progressing.
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
                f"cannot keep the rows of table `{self.table.name}` that have no partner: a "
                "partner may always come, so none of them could ever come out",
                hint="put the stream on the side that is kept: stream LEFT JOIN table",
            )
        for left, right in self.equalities:
            mine, theirs = self.input.schema[left], self.table.schema[right]
            if common_type(mine.type, theirs.type) is None:
                raise TypeMismatch(f"cannot compare `{mine}` with `{theirs}`")
        for condition in (self.residual, self.filter):
            if condition is not None:
                _check_refs_in(self._both, condition)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def _both(self) -> Schema:
        sides = zip(self.names, (self.input.schema, self.table.schema), strict=True)
        return Schema.of(
            (Column(f"{name}.{c.name}", c.type) for name, schema in sides for c in schema),
            (f"{self.names[0]}.{on}" for on in self.input.schema.progressing),
        )

    @cached_property
    def schema(self) -> Schema:
        if self.kind.is_one_sided:
            columns = self._both.columns[: len(self.input.schema)]
            return Schema(columns, self._both.progressing)
        return self._both

    @property
    def label(self) -> str:
        left, right = self.names
        terms = [f"{left}.{a} = {right}.{b}" for a, b in self.equalities]
        terms += [str(c) for c in (self.filter, self.residual) if c is not None]
        where = f" where {' AND '.join(terms)}" if terms else ""
        kind = "" if self.kind is JoinKind.INNER else f"{self.kind.value} "
        of = "" if right == self.table.name else f" ({self.table.name})"
        return f"TableJoin {kind}{left}, table {right}{of}{where}"


@dataclass(frozen=True)
class Ordered(Node):
    """The same rows, in the order of a progressing column: a contract on how answers come."""

    input: Node
    on: str

    def __post_init__(self) -> None:
        schema = self.input.schema
        if schema[self.on].name not in schema.progressing:
            usable = [name for name in schema.names if name in schema.progressing]
            raise CannotOrder(
                f"cannot order by `{self.on}`: it never promises that lower values are over, "
                "so no row could ever come out",
                hint=f"answers can be ordered by: {', '.join(usable) or 'nothing'}",
            )

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        # Rows are held back, so what was promised about other columns need not be true any more.
        return Schema.of(self.input.schema.columns, (self.on,))

    @property
    def label(self) -> str:
        return f"Ordered by {self.on}"


def check_progress(node: Node, on: str) -> None:
    """Refuse a window on a column that never promises that older values are over."""
    schema = node.schema
    if schema[on].name not in schema.progressing:
        usable = [name for name in schema.names if name in schema.progressing]
        raise CannotWindow(
            f"cannot window on `{on}`: it never promises that older values are over",
            hint=f"windows here can use: {', '.join(usable) or 'nothing'}",
        )


def _check_refs(node: Node, expression: Expression) -> None:
    _check_refs_in(node.schema, expression)


def _check_refs_in(schema: Schema, expression: Expression) -> None:
    for name in expression.refs:
        _ = schema[name]
