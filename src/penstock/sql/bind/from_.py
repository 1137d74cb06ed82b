"""The inputs of FROM, one by one: what they are, what they are called, which window they have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import CannotWindow, NotExecutable
from penstock.model.expressions import Named, Ref
from penstock.model.schema import ROW_NUM
from penstock.plan.nodes import Node, Project, Source, Table, Union
from penstock.sql.bind.context import Context
from penstock.sql.bind.match.match import bind_match
from penstock.sql.bind.scope import Scope
from penstock.sql.bind.window.emit import refuse_revisions
from penstock.sql.bind.window.function import bind_window_function
from penstock.sql.parse.syntax import (
    MatchClause,
    Relation,
    StreamSequence,
    StreamUnion,
    WindowClause,
    WindowFunction,
)
from penstock.windows import Window


@dataclass(frozen=True)
class Input:
    """One input of FROM."""

    node: Node
    scope: Scope
    place: exp.Expr
    name: str | None = None
    clause: WindowClause | None = None  # in brackets
    window: Window | None = None  # from TUMBLE, HOP or CUMULATE


def bind_relation(relation: Relation, context: Context) -> Input:
    """An input of FROM."""
    with context.located(relation):
        inner = _bind_this(relation.this, context)
        alias = relation.args.get("alias")
        name = alias.name if alias is not None else inner.name
        clause: WindowClause | None = relation.args.get("clause")
        if clause is not None and (inner.clause or inner.window):
            raise CannotWindow(
                "a second window for the same input",
                position=context.position(clause.span),
                hint="keep one of them",
            )
        scope = Scope.of(inner.node, name)
        if not inner.scope.has(ROW_NUM):
            scope = scope.without(ROW_NUM)
        return Input(inner.node, scope, relation, name, clause or inner.clause, inner.window)


def _bind_this(this: exp.Expr, context: Context) -> Input:
    if isinstance(this, Relation):
        return bind_relation(this, context)
    if isinstance(this, StreamUnion):
        return _bind_union(this, context)
    if isinstance(this, StreamSequence):
        raise NotExecutable(
            "a sequence must stand alone in FROM",
            position=context.position(this),
            hint="put it into a query of its own: (SELECT … FROM SEQ(…)) AS name",
        )
    if isinstance(this, WindowFunction):
        data = bind_relation(this.args["data"], context)
        refuse_table(data, context)
        window = bind_window_function(this, data.scope, context)
        return Input(data.node, data.scope, this, data.name, None, window)
    if isinstance(this, MatchClause):
        return _bind_match(this, context)
    if isinstance(this, exp.Subquery):
        node = context.subquery(this.this, context)
        return Input(node, Scope.of(node, None), this)
    with context.located(this):
        node = context.lookup(this.name)
        refuse_revisions(node, this.name)
    # A stream or table keeps the name it was declared with.
    name = this.name
    if isinstance(node, Source):
        name = node.stream.name
    elif isinstance(node, Table):
        name = node.table.name
    return Input(node, Scope.of(node, name), this, name)


def _bind_match(clause: MatchClause, context: Context) -> Input:
    """MATCH_RECOGNIZE over an input, which no name reaches from outside."""
    data = bind_relation(clause.this, context)
    refuse_table(data, context)
    if data.clause is not None or data.window is not None:
        raise CannotWindow(
            "a window is not allowed in front of MATCH_RECOGNIZE",
            position=context.position(data.clause.span if data.clause else data.place),
            hint="leave it out; what bounds the length of a match is PATTERN (…) WITHIN 1 HOUR",
        )
    with context.located(clause):
        node = bind_match(clause, data.node, data.scope, context)
    return Input(node, Scope.of(node, None), clause)


def refuse_table(input_: Input, context: Context) -> None:
    """Refuse a static table where only a stream can stand."""
    if isinstance(input_.node, Table):
        raise NotExecutable(
            f"`{input_.name}` is a static table: a query needs a stream",
            position=context.position(input_.place),
            hint=f"join a stream with it: FROM stream JOIN {input_.name} ON …",
        )


def _bind_union(union: StreamUnion, context: Context) -> Input:
    """The rows of all parts.

    A row number is a position in its own stream, so in a union several rows have the same one: it
    cannot be named any more. It stays in the plan where it does no harm.
    """
    parts = [_bind_this(part, context) for part in union.expressions]
    for part in parts:
        refuse_table(part, context)
        window = part.clause.span if part.clause else part.place if part.window else None
        if window is not None:
            raise CannotWindow(
                "a window is not allowed inside a union",
                position=context.position(window),
                hint="put it after the whole union",
            )
    nodes = flat(part.node for part in parts)
    if not all(isinstance(node, Source) for node in nodes):
        nodes = [_without_row_number(node) if isinstance(node, Source) else node for node in nodes]
    with context.located(union):
        node = Union(tuple(nodes))
    return Input(node, Scope.of(node, None).without(ROW_NUM), union)


def flat(nodes: Iterable[Node]) -> list[Node]:
    """The parts of a union, those of unions among them in their place."""
    found: list[Node] = []
    for node in nodes:
        found += node.parts if isinstance(node, Union) else [node]
    return found


def _without_row_number(source: Source) -> Node:
    columns = (Named(c.name, Ref(c.name, c.type)) for c in source.stream.columns)
    return Project(source, tuple(columns))
