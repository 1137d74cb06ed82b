"""The statements there are, as the parser hands them over.

    CREATE STREAM   CreateStream        SET              SetStatement
    CREATE TABLE    CreateTable         DECLARE          Declare
    CREATE QUERY    CreateQuery         EXPLAIN          Explain
    CREATE VIEW     CreateView          SHOW             ShowStatement
    CREATE AGGREGATE CreateAggregate    DESCRIBE         DescribeStatement
    DROP            Drop                SELECT …         BareSelect
    ALTER QUERY     AlterQuery

CREATE STREAM without columns is an InferStream, until somebody has looked at the files.

A query stays a syntax tree until somebody binds it to a catalog; it keeps the whole text it came
from, so that errors can show the place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from sqlglot import exp

from penstock.errors import Position
from penstock.model.assignments import OptionChange, Value
from penstock.model.begin import Begin
from penstock.model.schema import Column
from penstock.model.sql_aggregates import LocalTable
from penstock.model.streams import Origin, Sink, Stream
from penstock.model.tables import StaticTable
from penstock.model.types import Type
from penstock.sql.parse.syntax import EmitClause, Span


@dataclass(frozen=True)
class ParsedQuery:
    """A SELECT, or a union of several, not yet bound."""

    ast: exp.Expr
    text: str
    span: Span
    emit: EmitClause | None = None

    @property
    def sql(self) -> str:
        """The query as it was written."""
        return self.text[self.span.start : self.span.end]


@dataclass(frozen=True)
class Statement:
    """Root of all statements."""

    position: Position

    @property
    def sql(self) -> str:
        """The statement as it was written."""
        return self.position.text[self.position.start : self.position.end]


@dataclass(frozen=True)
class InferStream(Statement):
    """Declare a stream whose columns are those of its files; `declare` makes it of them."""

    name: str
    origin: Origin
    declare: Callable[[tuple[Column, ...]], CreateStream] = field(compare=False)


@dataclass(frozen=True)
class CreateStream(Statement):
    """Declare a stream; `late` is where rows go that cannot go in.

    `in_zone` makes the stream for another time zone than UTC, where that matters: columns that are
    derived from others may say what a clock shows.
    """

    stream: Stream
    replace: bool = False
    late: Sink | None = None
    in_zone: Callable[[str], Stream] | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        return self.stream.name


@dataclass(frozen=True)
class CreateTable(Statement):
    """Declare a static table; its rows are read when it is declared to an engine."""

    table: StaticTable
    replace: bool = False

    @property
    def name(self) -> str:
        return self.table.name


@dataclass(frozen=True)
class CreateQuery(Statement):
    """Declare a continuous query; without a sink its results are only subscribed to."""

    name: str
    select: ParsedQuery
    sink: Sink | None = None
    replace: bool = False
    begin: Begin | None = None


@dataclass(frozen=True)
class CreateView(Statement):
    """Give a query a name under which others can read it."""

    name: str
    select: ParsedQuery
    replace: bool = False


#: What an aggregate that is written in SQL consists of.
SECTIONS = ("INITIALIZE", "ITERATE", "TERMINATE", "EXPIRE")


@dataclass(frozen=True)
class ParsedChange:
    """A statement of an aggregate, not yet bound; values of an INSERT are named by their places."""

    span: Span
    kind: Literal["insert", "update", "delete"]
    table: str
    values: Mapping[str, exp.Expr]
    source: str | None = None
    where: exp.Expr | None = None


@dataclass(frozen=True)
class CreateAggregate(Statement):
    """Define an aggregate by local tables, and statements by `SECTIONS`."""

    name: str
    arguments: tuple[Column, ...]
    returns: Type
    tables: tuple[LocalTable, ...]
    sections: Mapping[str, tuple[ParsedChange, ...]]
    replace: bool = False


@dataclass(frozen=True)
class Drop(Statement):
    """Forget a stream, table, query or view, or a function that a user has defined."""

    kind: Literal["stream", "table", "query", "view", "aggregate", "function"]
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class AlterQuery(Statement):
    """Give a declared query other options; `place` is where its name stands."""

    name: str
    changes: tuple[OptionChange, ...]
    place: Position


@dataclass(frozen=True)
class SetStatement(Statement):
    """Change a setting."""

    name: str
    value: Value


@dataclass(frozen=True)
class Declare(Statement):
    """Declare a parameter of queries."""

    name: str
    value: Value
    replace: bool = False


@dataclass(frozen=True)
class BareSelect(Statement):
    """A query to run without giving it a name."""

    select: ParsedQuery


@dataclass(frozen=True)
class Explain(Statement):
    """Show the plan of a query: one written here, or a declared one by its name.

    `live`: instead of its plan, what holds the running query back. `alternatives`: also the other
    shapes that its joins could have, with what each is estimated to take; `analyze`: also what its
    operators were measured to take, beside the estimates.
    """

    target: CreateQuery | BareSelect | str
    live: bool = False
    alternatives: bool = False
    analyze: bool = False


Listed: TypeAlias = Literal["queries", "streams", "tables", "views", "functions", "settings"]
#: What SHOW lists.
LISTED: tuple[Listed, ...] = get_args(Listed)


@dataclass(frozen=True)
class ShowStatement(Statement):
    """List everything of a kind, with what it has come to."""

    what: Listed


@dataclass(frozen=True)
class DescribeStatement(Statement):
    """Tell all about a stream, table, view or query; `place` is where its name stands."""

    name: str
    place: Position
