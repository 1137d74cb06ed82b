"""Expressions of MEASURES and DEFINE: columns of pattern variables, navigation, aggregates.

A.x            x in the last row of A;   x    in the last row of all: in DEFINE the row itself
FIRST, LAST    FIRST(A.x[, n]), LAST(A.x[, n]): in the first or last row of A, or n rows of A on
PREV           PREV(A.x[, n]), PREV(LAST(A.x, 1)[, n]): n rows before that one, of any variable
sum(A.x)       over the rows of A so far;   sum(x), count(*)   over all rows of the match
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from penstock.errors import NotExecutable, SyntaxFault, UnknownName
from penstock.model.expressions import Expression, Ref
from penstock.model.match import RUNNING_AGGREGATES, Classifier, MatchAggregate, Navigation
from penstock.model.schema import suggest
from penstock.sql.bind.aggregate.call import bind_aggregate_call
from penstock.sql.bind.context import Context
from penstock.sql.bind.expression import (
    OTHER_AGGREGATES,
    ExpressionBinder,
    filtered,
    mark_aggregates,
)
from penstock.sql.bind.scope import Scope
from penstock.sql.parse.syntax import Windowed

#: Functions that look at rows of a match.
_NAVIGATIONS = ("first", "last", "prev")
_REFUSED = {
    "next": (
        "NEXT is not supported: a condition would have to wait for rows that may never come",
        "look back instead: define the later variable with PREV",
    ),
    "match_number": (
        "MATCH_NUMBER is not supported: the number of the last match would have to be kept for "
        "every partition, for ever",
        "number the results where you read them",
    ),
}


class MatchBinder(ExpressionBinder):
    """Binds MEASURES; where `defining` is given, the condition of that variable.

    `variables` are those of the pattern by their names in lower case, `on` is the time of rows.
    """

    def __init__(
        self,
        context: Context,
        scope: Scope,
        variables: Mapping[str, str],
        on: Ref,
        defining: str | None = None,
    ) -> None:
        super().__init__(context, scope, variables)
        self._variables = variables
        self._on = on
        self._defining = defining

    def bind(self, node: exp.Expr) -> Expression:
        if isinstance(node, exp.Anonymous):
            name = node.name.lower()
            mark_aggregates(node, self.context.names)
            with self.context.located(node):
                if name in _REFUSED:
                    reason, hint = _REFUSED[name]
                    raise NotExecutable(reason, hint=hint)
                if name in _NAVIGATIONS:
                    return self._navigation(node)
                if name == "match_rowtime":
                    return Navigation(self._on)
                if name == "classifier":
                    return self._classifier(node)
        return super().bind(node)

    def column(self, node: exp.Column) -> Expression:
        row = self._of_rows()
        value = row.bind(node)
        return self._known_here(Navigation(value, row.variable))

    def aggregate(self, node: exp.Expr) -> Expression:
        if isinstance(node, Windowed):
            raise SyntaxFault(
                "an aggregate over a match has no window of its own",
                hint="leave out the brackets: it is over the rows of the match",
            )
        call, condition = filtered(node)
        name = call.name.lower()
        if name in OTHER_AGGREGATES and self.context.names.function(name) is None:
            raise NotExecutable(f"{call.name} cannot be run in this release")
        row = self._of_rows()
        argument = call.expressions[0] if call.expressions else None
        if isinstance(argument, exp.Column) and isinstance(argument.this, exp.Star):
            row.note(argument.table)  # count(A.*)
            call = exp.Anonymous(this=call.name, expressions=[exp.Star()])
        found = bind_aggregate_call(call, condition, lambda: self._on, row)
        found = replace(found, by_event_time=False)  # by what the pattern's ORDER BY says
        if self._defining is not None and found.function not in RUNNING_AGGREGATES:
            raise NotExecutable(
                f"{call.name} is not supported in DEFINE, where results are needed row by row",
                hint=f"use one of {', '.join(RUNNING_AGGREGATES)}; MEASURES can have all others",
            )
        return MatchAggregate(found, row.variable)

    def _classifier(self, node: exp.Anonymous) -> Expression:
        if node.expressions or self._defining is not None:
            raise NotExecutable(
                "CLASSIFIER is supported in MEASURES only, and without an argument",
                hint="write CLASSIFIER() AS name in MEASURES: the variable of the last row",
            )
        return Classifier()

    def _navigation(self, node: exp.Anonymous) -> Navigation:
        name, arguments = node.name.lower(), node.expressions
        if not 1 <= len(arguments) <= 2:
            raise SyntaxFault(
                f"{node.name} takes a value and, if need be, a number of rows",
                hint=f"write {node.name}(A.x) or {node.name}(A.x, 1)",
            )
        count = self._count(arguments[1]) if len(arguments) == 2 else int(name == "prev")
        if name != "prev":
            row = self._of_rows()
            value = row.bind(arguments[0])
            found = Navigation(value, row.variable, name == "last", count)
            # The last of all rows is the row itself, whatever it is of.
            return found
        inner = arguments[0]
        if isinstance(inner, exp.Anonymous) and inner.name.lower() in ("first", "last"):
            with self.context.located(inner):
                return replace(self._navigation(inner), back=count)
        row = self._of_rows()
        value = row.bind(inner)
        return self._known_here(Navigation(value, row.variable, back=count))

    def _known_here(self, found: Navigation) -> Navigation:
        """In its own condition, the last row of a variable is the row itself."""
        if found.variable is not None and found.variable == self._defining:
            return replace(found, variable=None)
        return found

    def _count(self, node: exp.Expr) -> int:
        if isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit():
            return int(node.this)
        raise SyntaxFault(
            f"`{self.context.written(node)}` is not a number of rows",
            position=self.context.position(node),
            hint="write a whole number, such as 1",
        )

    def _of_rows(self) -> _RowBinder:
        return _RowBinder(self.context, self.scope, self._variables)


class _RowBinder(ExpressionBinder):
    """Binds what is computed of one row, and notes of which variable the row is."""

    def __init__(self, context: Context, scope: Scope, variables: Mapping[str, str]) -> None:
        super().__init__(context, scope, variables)
        self._variables = variables
        self._noted: set[str | None] = set()

    @property
    def variable(self) -> str | None:
        return next(iter(self._noted), None)

    def note(self, qualifier: str) -> None:
        """A column of this variable is read; empty: of any."""
        known = self._variables.get(qualifier.lower())
        if qualifier and known is None:
            raise UnknownName(
                f"no pattern variable `{qualifier}`",
                hint=suggest(qualifier, self._variables.values()),
            )
        self._noted.add(known)
        if len(self._noted) > 1:
            names = sorted(f"`{name}`" if name else "all rows" for name in self._noted)
            raise NotExecutable(
                f"{' and '.join(names)} cannot be mixed here: one function looks at one row",
                hint="call it for each: LAST(A.x) - LAST(B.x)",
            )

    def column(self, node: exp.Column) -> Expression:
        self.context.only(node, "this", "table")
        if isinstance(node.this, exp.Star):
            self._refuse(node.this)
        self.note(node.table)
        return self.scope.resolve(node.name).ref

    def bind(self, node: exp.Expr) -> Expression:
        if isinstance(node, exp.Anonymous) and node.name.lower() in (*_NAVIGATIONS, *_REFUSED):
            raise NotExecutable(
                f"{node.name} cannot be used inside another function of the match",
                position=self.context.position(node),
                hint="PREV(LAST(A.x, 1), 2) is the only nesting that there is",
            )
        return super().bind(node)
