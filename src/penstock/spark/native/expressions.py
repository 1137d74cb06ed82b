"""Expressions as Spark columns.

The model's functions have Spark's names and meaning, so most of them are simply called. Arguments
are cast to the types that the model matched: where Spark would widen differently, its own rules
do not apply. Times are Spark timestamps here, not ticks. What is left out is what the two could
see differently (text made of numbers, patterns, calendars, lengths of time); `objection` names it,
and the query runs in the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import add, and_, ge, gt, le, lt, mod, mul, ne, or_, sub, truediv
from types import MappingProxyType

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.errors import PenstockBug
from penstock.model.expressions import Call, Case, Cast, Expression, Literal, Named, Ref
from penstock.model.functions import LONGEST_TEXT
from penstock.model.types import Type
from penstock.model.user_calls import UserCall

_TYPES = frozenset(Type) - {Type.INTERVAL, Type.BINARY, Type.DATE, Type.TIMESTAMP_NTZ}


def _concat(*texts: Column) -> Column:
    together = reduce(add, (F.length(text.cast("string")) for text in texts))
    return F.when(together <= LONGEST_TEXT, F.concat(*texts))


_FORMS: Mapping[str, Callable[..., Column]] = MappingProxyType(
    {
        "+": add,
        "-": sub,
        "*": mul,
        "/": truediv,
        "%": mod,
        "&": lambda a, b: a.bitwiseAND(b),
        "|": lambda a, b: a.bitwiseOR(b),
        "^": lambda a, b: a.bitwiseXOR(b),
        "=": lambda a, b: a == b,
        "<>": ne,
        "<": lt,
        "<=": le,
        ">": gt,
        ">=": ge,
        "<=>": lambda a, b: a.eqNullSafe(b),
        "and": and_,
        "or": or_,
        "not": lambda a: ~a,
        "is_null": lambda a: a.isNull(),
        "is_not_null": lambda a: a.isNotNull(),
        "concat": _concat,
        "in": lambda a, *others: reduce(or_, (a == other for other in others)),
    }
)
_CALLED = frozenset(
    [
        "negative",
        "abs",
        "sqrt",
        "isnan",
        "coalesce",
        "nullif",
        "if",
        "greatest",
        "least",
        "upper",
        "lower",
        "contains",
        "startswith",
        "endswith",
        "unix_seconds",
        "unix_millis",
        "unix_micros",
    ]
)


def objection(expression: Expression) -> str | None:
    """Why an expression cannot be left to Spark; None: it can."""
    for part in expression.walk():
        match part:
            case Call() if part.function not in _FORMS and part.function not in _CALLED:
                return f"`{part.function}` is computed in the kernel"
            case UserCall():
                return f"`{part.function.name}` is computed in the kernel"
            case Cast() if not (part.input.type.is_numeric and part.to.is_numeric):
                return f"`{part}` is computed in the kernel"
        if part.type not in _TYPES:
            return f"`{part}` is {part.type}, which the kernel computes"
    return None


def column(expression: Expression) -> Column:
    """The expression over the columns of a DataFrame."""
    match expression:
        case Ref():
            return F.col(f"`{expression.name}`")
        case Literal():
            return _literal(expression)
        case Named():
            return column(expression.value).alias(expression.name)
        case Cast():
            return column(expression.input).cast(str(expression.to))
        case Case():
            return _case(expression)
        case Call():
            return _call(expression)
    raise PenstockBug(f"no way to compute a {type(expression).__name__}")


def _literal(literal: Literal) -> Column:
    if literal.of is Type.NULL:
        return F.lit(None)
    if literal.of is Type.TIMESTAMP:
        return F.timestamp_micros(F.lit(literal.value).cast("bigint"))
    return F.lit(literal.value).cast(str(literal.of))


def _case(case: Case) -> Column:
    whole = _cast(case.otherwise, case.type)
    for condition, value in reversed(case.branches):
        whole = F.when(column(condition), _cast(value, case.type)).otherwise(whole)
    return whole


def _call(call: Call) -> Column:
    match = call.match
    arguments = [_cast(arg, to) for arg, to in zip(call.args, match.parameters, strict=True)]
    form = _FORMS.get(call.function)
    if form is not None:
        return form(*arguments).cast(str(match.result))
    return F.call_function(call.function, *arguments)


def _cast(expression: Expression, to: Type) -> Column:
    computed = column(expression)
    if expression.type is to or to is Type.NULL:
        return computed
    return computed.cast(str(to))
