"""Expressions above an aggregate: over its keys, its results and the ends of its window."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.errors import CannotWindow, NotExecutable, QueryError, SyntaxFault, UnknownName
from penstock.model.aggregate_functions import SPELLINGS
from penstock.model.expressions import Expression, Ref
from penstock.model.functions import FUNCTIONS, canonical
from penstock.model.schema import suggest
from penstock.sql.bind.aggregate.builder import ENDS, AggregateBuilder
from penstock.sql.bind.aggregate.call import bind_aggregate_call
from penstock.sql.bind.context import Context
from penstock.sql.bind.expression import (
    OTHER_AGGREGATES,
    ExpressionBinder,
    filtered,
    is_aggregate,
)
from penstock.sql.bind.output_names import WINDOW_FIELDS, Item, default_name
from penstock.sql.bind.scope import Field, Scope
from penstock.sql.bind.window.find import aggregate_calls, window_of
from penstock.sql.bind.window.function import SESSION_WINDOW, bind_window_call, is_window_call
from penstock.sql.parse.syntax import Windowed
from penstock.windows import Session


class PostAggregateBinder(ExpressionBinder):
    """Binds the SELECT list and HAVING; every aggregate it meets becomes a result of the shape."""

    def __init__(self, context: Context, scope: Scope, shape: AggregateBuilder) -> None:
        super().__init__(context, scope)
        self.shape = shape
        self.below = ExpressionBinder(context, scope)
        self.wanted = ""  # the name of the SELECT item that is being bound
        self.aliases: dict[str, Expression] = {}  # what HAVING may name, in lower case

    def item(self, item: Item) -> Expression:
        """A column of the SELECT list."""
        if isinstance(item.value, Field):
            with self.context.located(item.place):
                return self._grouped(item.value.ref, str(item.value))
        self.wanted = item.name if is_aggregate(_bare(item.value)) else ""
        value = self.bind(item.value)
        self.wanted = ""
        if item.is_alias:
            self.aliases[item.name.lower()] = value
        return value

    def bind(self, node: exp.Expr) -> Expression:
        node = self.with_fields(node)
        computed = self._computed_key(node)
        if computed is not None:
            return computed
        if isinstance(node, exp.Dot) and is_window_call(node.this):
            return self._window_field(node)
        return super().bind(node)

    def ours(self, part: exp.Expr) -> Expression | None:
        computed = self._computed_key(part)
        if computed is not None:
            return computed
        if isinstance(part, exp.Dot) and is_window_call(part.this):
            return self._window_field(part)
        return super().ours(part)

    def _computed_key(self, node: exp.Expr) -> Expression | None:
        """The key that this expression, as a whole, is."""
        if not self.shape.has_computed_keys or isinstance(node, (exp.Column, exp.Literal)):
            return None
        if aggregate_calls([node]):
            return None
        try:
            return self.shape.key(self.below.bind(node))
        except QueryError:
            return None  # not over the input alone; whatever is wrong shows up further down

    def column(self, node: exp.Column) -> Expression:
        """A key, an end of the window, or in HAVING an alias."""
        name, qualifier = node.name, node.table or None
        if self.scope.has(name, qualifier):
            key = self.shape.key(self.scope.resolve(name, qualifier).ref)
            if key is not None:
                return key
        end = _window_end(name.lower(), qualifier)
        if end is not None:
            return self.shape.end(end)
        if qualifier is None and name.lower() in self.aliases:
            return self.aliases[name.lower()]
        if qualifier is None and name.lower() == "window" and not self.scope.has(name):
            raise NotExecutable(
                "a window is not a single value",
                hint="write window.start and window.end, or window_start and window_end",
            )
        return self._grouped(self.scope.resolve(name, qualifier).ref, name)

    def _grouped(self, ref: Ref, written: str) -> Expression:
        key = self.shape.key(ref)
        if key is None:
            raise SyntaxFault(
                f"`{written}` has no single value here: it is neither grouped nor aggregated",
                hint=f"add {written} to GROUP BY, which as GROUP BY ALL takes everything selected, "
                f"or aggregate it: max({written})",
            )
        return key

    def _window_field(self, node: exp.Dot) -> Expression:
        """`window(ts, '10 minutes').start`, where GROUP BY has the same window."""
        name = node.expression.name.lower()
        window = bind_window_call(node.this, self.scope, self.context)
        if isinstance(window, Session) and isinstance(self.shape.window, Session):
            window = replace(window, partition=self.shape.window.partition)
        if window != self.shape.window or name not in WINDOW_FIELDS:
            raise SyntaxFault(
                f"`{self.context.written(node)}` is not a field of this query's window",
                position=self.context.position(node),
                hint="write window.start or window.end",
            )
        return self.shape.end(WINDOW_FIELDS[name])

    def _check_known(self, call: exp.Expr) -> None:
        """Refuse a call of nothing that there is, an aggregate of a user by the look of it."""
        known = not isinstance(call, exp.Anonymous) or canonical(call.name) in FUNCTIONS
        if not known and self.context.names.function(call.name) is None:
            raise UnknownName(
                f"no aggregate `{call.name}`",
                hint=f"{suggest(call.name, SPELLINGS)}; one of your own is declared before the "
                "queries that use it: engine.aggregate(…), CREATE AGGREGATE",
            )

    def aggregate(self, node: exp.Expr) -> Expression:
        call, condition = filtered(_bare(node))
        if not is_aggregate(call):
            self._check_known(call)
            raise CannotWindow(
                f"`{self.context.written(call)}` cannot have a window: it is not an aggregate",
                hint="a window stands after an aggregate, or after a stream in FROM",
            )
        name = call.name.lower()
        if name in OTHER_AGGREGATES and self.context.names.function(name) is None:
            raise NotExecutable(
                f"`{name}` cannot be run in this release",
                hint=f"aggregates are: {', '.join(SPELLINGS)}",
            )
        wanted = self.wanted or default_name(call, self.scope)
        aggregate = bind_aggregate_call(call, condition, self.shape.event_time, self.below)
        behind = node.unnest()
        own = None
        if isinstance(behind, Windowed):
            own = window_of(behind, self.scope, self.context).window
        return self.shape.result(aggregate, wanted, own)


def _window_end(name: str, qualifier: str | None) -> str | None:
    """The end of the window that `window_start` or `window.start` names."""
    if qualifier is None:
        return name if name in ENDS else None
    is_window = qualifier.lower() in ("window", SESSION_WINDOW)
    return WINDOW_FIELDS.get(name) if is_window else None


def _bare(node: exp.Expr) -> exp.Expr:
    """An aggregate without its one window and parentheses."""
    node = node.unnest()
    return node.this.unnest() if isinstance(node, Windowed) else node
