"""CREATE AGGREGATE -> a declaration, with the statements of its body as its code.

Names of arguments are those of no column of a local table, so that a name means one thing. Values
that are put into a column become its type, as in any INSERT.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.errors import DuplicateName, NotExecutable, SyntaxFault, UnknownName
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Cast, Expression, Named, Ref
from penstock.model.schema import Column, suggest
from penstock.model.sql_aggregates import (
    RETURN,
    Delete,
    Insert,
    LocalStatement,
    LocalTable,
    SqlAggregate,
    Update,
)
from penstock.model.types import Type
from penstock.model.user_defined import UserAggregate
from penstock.plan.nodes import Node
from penstock.sql.bind.aggregate.call import bind_aggregate_call
from penstock.sql.bind.context import Context, Names
from penstock.sql.bind.expression import ExpressionBinder, filtered, mark_aggregates
from penstock.sql.bind.scope import Field, Scope
from penstock.sql.bind.user_aggregate.folding import can_subtract, folded
from penstock.sql.parse.statements import SECTIONS, CreateAggregate, ParsedChange

#: The state of an aggregate that only adds: its result.
_RESULT = "result"


def bind_user_aggregate(statement: CreateAggregate, names: Names) -> UserAggregate:
    """The aggregate that a statement defines."""
    _check_names(statement)
    binder = _BodyBinder(statement, names)
    initialize, iterate, terminate, expire = (
        tuple(map(binder.change, statement.sections.get(section, ()))) for section in SECTIONS
    )
    body = SqlAggregate(statement.tables, initialize, iterate, terminate, expire)
    if not any(each.table == RETURN for each in terminate):
        raise SyntaxFault(
            f"TERMINATE of aggregate `{statement.name}` gives no result",
            hint="write INSERT INTO RETURN SELECT … FROM …",
        )
    declared = UserAggregate(
        statement.name,
        statement.arguments,
        statement.returns,
        (Column(_RESULT, statement.returns),),
        text=statement.sql,
        code=body,
        vectorised=True,
    )
    body = folded(body)
    if not body.folded:
        return declared
    state = tuple(
        Column(each.name, column.type)
        for each in body.folded
        for column in body.tables[0].columns
        if column.name == each.name
    )
    subtracts = can_subtract(body)
    return replace(declared, state=state, merges=True, subtracts=subtracts, code=body)


def _check_names(statement: CreateAggregate) -> None:
    taken: dict[str, str] = {}
    for argument in statement.arguments:
        _take(taken, argument.name, f"an argument of `{statement.name}`")
    tables: dict[str, str] = {RETURN: "the table of the result"}
    for table in statement.tables:
        _take(tables, table.name, "a local table")
        own = dict(taken)
        for column in table.columns:
            _take(own, column.name, f"a column of `{table.name}`")


def _take(taken: dict[str, str], name: str, what: str) -> None:
    if name.lower() in taken:
        raise DuplicateName(
            f"`{name}` is {taken[name.lower()]} already", hint="choose another name"
        )
    taken[name.lower()] = what


class _BodyBinder:
    """Binds the statements of a body."""

    def __init__(self, statement: CreateAggregate, names: Names) -> None:
        self._arguments = statement.arguments
        self._returned = (Column(_RESULT, statement.returns),)
        self._tables = {table.name.lower(): table for table in statement.tables}
        self._context = Context(statement.position.text, names, _no_query)
        self._names = names
        self._text = statement.position.text

    def change(self, parsed: ParsedChange) -> LocalStatement:
        """One statement."""
        with self._context.located(parsed.span):
            for tree in (*parsed.values.values(), *([parsed.where] if parsed.where else [])):
                mark_aggregates(tree, self._names)
            if parsed.kind == "insert":
                return self._insert(parsed)
            table = self._table(parsed.table)
            binder = _LocalBinder(self._context, self._scope(table))
            where = None if parsed.where is None else _condition(binder.bind(parsed.where))
            if parsed.kind == "delete":
                return Delete(table.name, where)
            columns = {column.name.lower(): column for column in table.columns}
            values = []
            for name, tree in parsed.values.items():
                if name.lower() not in columns:
                    raise UnknownName(
                        f"no column `{name}` in table `{table.name}`", hint=suggest(name, columns)
                    )
                column = columns[name.lower()]
                values.append(Named(column.name, _as(binder.bind(tree), column)))
            binder.check_none("UPDATE")
            return Update(table.name, where, tuple(values))

    def _insert(self, parsed: ParsedChange) -> Insert:
        into = RETURN if parsed.table.lower() == RETURN else self._table(parsed.table).name
        columns = self._returned if into == RETURN else self._table(into).columns
        source = None if parsed.source is None else self._table(parsed.source)
        binder = _LocalBinder(self._context, self._scope(source))
        if len(parsed.values) != len(columns):
            raise SyntaxFault(
                f"INSERT INTO {parsed.table} has {len(parsed.values)} values for "
                f"{len(columns)} columns",
                hint=f"its columns are: {', '.join(column.name for column in columns)}",
            )
        pairs = zip(columns, parsed.values.values(), strict=True)
        values = tuple(Named(column.name, _as(binder.bind(tree), column)) for column, tree in pairs)
        found = tuple(binder.found.items())
        below = ExpressionBinder(self._context, self._scope(source))
        where = None if parsed.where is None else _condition(below.bind(parsed.where))
        if found and source is not None:
            mixed = {name for value in values for name in value.refs} & {
                column.name for column in source.columns
            }
            if mixed:
                raise SyntaxFault(
                    f"`{min(mixed)}` has no single value here: it is not aggregated",
                    hint=f"aggregate it: max({min(mixed)})",
                )
        elif found:
            raise SyntaxFault("an aggregate needs rows", hint="write SELECT … FROM a local table")
        return Insert(into, where, values, None if source is None else source.name, found)

    def _table(self, name: str) -> LocalTable:
        if name.lower() not in self._tables:
            known = [table.name for table in self._tables.values()]
            raise UnknownName(f"no local table `{name}`", hint=suggest(name, known))
        return self._tables[name.lower()]

    def _scope(self, table: LocalTable | None) -> Scope:
        columns = (*self._arguments, *(() if table is None else table.columns))
        qualifier = None if table is None else table.name
        own = () if table is None else table.columns
        return Scope(
            tuple(
                Field(each.name, each.type, each.name, qualifier if each in own else None)
                for each in columns
            )
        )


class _LocalBinder(ExpressionBinder):
    """Expressions over arguments and a local table; aggregates become columns of their own."""

    def __init__(self, context: Context, scope: Scope) -> None:
        super().__init__(context, scope)
        self.found: dict[str, Aggregate] = {}

    def aggregate(self, node: exp.Expr) -> Expression:
        call, condition = filtered(node)
        nowhere = Ref("", Type.BIGINT)
        below = ExpressionBinder(self.context, self.scope)
        aggregate = bind_aggregate_call(call, condition, lambda: nowhere, below)
        if aggregate.user is not None or aggregate.by is not None:
            raise NotExecutable(
                f"`{self.context.written(node)}` cannot be used inside an aggregate",
                hint="sum, count, min, max, avg and their like can",
            )
        name = f" {len(self.found)}"  # no column is called so
        self.found[name] = aggregate
        return Ref(name, aggregate.type)

    def check_none(self, where: str) -> None:
        if self.found:
            raise SyntaxFault(
                f"an aggregate is not allowed in {where}",
                hint="INSERT … SELECT it into another local table first",
            )


def _as(value: Expression, column: Column) -> Expression:
    return value if value.type is column.type else Cast(value, column.type)


def _condition(value: Expression) -> Expression:
    if value.type not in (Type.BOOLEAN, Type.NULL):
        raise SyntaxFault(f"WHERE needs a condition, and `{value}` is {value.type}")
    return value


def _no_query(tree: exp.Expr, context: Context) -> Node:
    raise NotExecutable(
        "a subquery is not allowed in an aggregate", hint="use a local table for it"
    )
