"""One aggregate call: its argument, DISTINCT, FILTER, and the constants behind the argument.

count(*) FILTER (WHERE c)    count(CASE WHEN c THEN 1 END): what is not counted is NULL
count(DISTINCT x)            a function of the set of values
percentile(x, 0.9)           constants: shares between 0 and 1, or how many
first(x), last(x)            x where the row's event time is least, or greatest
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from penstock.errors import NotExecutable, SyntaxFault
from penstock.model.aggregate_functions import (
    AGGREGATES,
    SPELLINGS,
    AggregateFunction,
    Second,
    Spelling,
)
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Case, Expression, Literal, Ref
from penstock.model.types import Type
from penstock.model.user_calls import brought
from penstock.model.user_defined import UserAggregate
from penstock.sql.bind.expression import ExpressionBinder


def bind_aggregate_call(
    call: exp.Expr, condition: exp.Expr | None, time: Callable[[], Ref], below: ExpressionBinder
) -> Aggregate:
    """The aggregate of a call over the input; `time` gives the event time of its rows."""
    user = below.context.names.function(call.name)
    if isinstance(user, UserAggregate):
        return _of_user(user, call, condition, time, below)
    function, spelling = SPELLINGS[call.name.lower()]
    arguments = list(call.expressions)
    wanted = 1 if spelling.second is Second.NOTHING else 2
    if len(arguments) != wanted:
        count = "one argument" if wanted == 1 else "two arguments"
        raise SyntaxFault(f"{call.name} takes {count}", hint=f"write {spelling.call('column')}")
    argument, computed = _argument(call, arguments[0], function, below)
    if condition is not None:
        value = Literal(1, Type.INT) if argument is None else argument
        argument = Case(((below.bind(condition), value),))
    if spelling.second is Second.NOTHING:
        by = time() if AGGREGATES[computed].ordered else None
        return Aggregate(computed, argument, by, spelling.parameters, by_event_time=by is not None)
    if spelling.second is Second.COLUMN:
        return Aggregate(computed, argument, below.bind(arguments[1]))
    constant = _constant(spelling, arguments[1], below)
    return Aggregate(computed, argument, parameters=(constant,))


def _of_user(
    user: UserAggregate,
    call: exp.Expr,
    condition: exp.Expr | None,
    time: Callable[[], Ref],
    below: ExpressionBinder,
) -> Aggregate:
    """One that a user has defined; rows that a FILTER leaves out have NULL for an argument."""
    if any(isinstance(tree, exp.Distinct) for tree in call.expressions):
        raise NotExecutable(
            f"{call.name}(DISTINCT …) cannot be run in this release",
            hint="aggregate twice: first GROUP BY the column, then aggregate the groups",
        )
    first, *others = brought(user, [below.bind(tree) for tree in call.expressions])
    if condition is not None:
        first = Case(((below.bind(condition), first),))
    by = None if user.merges else time()
    return Aggregate(
        user.name, first, by, user=user, others=tuple(others), by_event_time=by is not None
    )


def _argument(
    call: exp.Expr, tree: exp.Expr, function: AggregateFunction, below: ExpressionBinder
) -> tuple[Expression | None, str]:
    """What the function is of, and which function it is if DISTINCT makes it another."""
    if isinstance(tree, exp.Star):
        below.context.only(tree)
        return None, function.name
    if not isinstance(tree, exp.Distinct):
        return below.bind(tree), function.name
    if function.distinct is None:
        raise NotExecutable(
            f"{call.name}(DISTINCT …) cannot be run in this release",
            hint="aggregate twice: first GROUP BY the column, then aggregate the groups",
        )
    if len(tree.expressions) != 1:
        raise NotExecutable(
            f"{call.name}(DISTINCT …) takes one column",
            hint="combine several: concat_ws('|', a, b)",
        )
    return below.bind(tree.expressions[0]), function.distinct


def _constant(spelling: Spelling, tree: exp.Expr, below: ExpressionBinder) -> float:
    hint = f"write {spelling.call('column')}"
    with below.context.located(tree):
        bound = below.bind(tree)
        value = bound.value if isinstance(bound, Literal) and bound.type.is_numeric else None
        if spelling.second is Second.COUNT:
            if not isinstance(value, int) or value < 1:
                raise SyntaxFault(f"{spelling.name} needs a number of values", hint=hint)
            return value
        if value is None or not 0 <= value <= 1:
            raise SyntaxFault(f"{spelling.name} needs a fraction between 0 and 1", hint=hint)
        return float(value)
