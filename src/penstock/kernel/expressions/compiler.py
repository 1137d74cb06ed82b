"""From an expression to a Polars expression: its five shapes, and the way to a function's form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial, reduce
from operator import mod, or_
from typing import Any

import polars as pl

from penstock.errors import PenstockBug
from penstock.kernel.expressions import arithmetic, decimal_constants, logic, nested, text, times
from penstock.kernel.expressions.casts import cast
from penstock.kernel.expressions.decimals import DECIMAL_FORMS
from penstock.kernel.expressions.once import apply
from penstock.kernel.expressions.user_calls import user_call
from penstock.kernel.types import polars_type
from penstock.model.expressions import Call, Case, Cast, Expression, Literal, Named, Ref, constant
from penstock.model.functions import lookup
from penstock.model.types import DecimalType, Type
from penstock.model.user_calls import UserCall

Form = Callable[..., pl.Expr]

_FAMILIES = (arithmetic, logic, text, times, nested)
FORMS: dict[str, Form] = reduce(or_, (family.FORMS for family in _FAMILIES))
BY_TYPE: dict[str, Form] = reduce(or_, (family.BY_TYPE for family in _FAMILIES))


def compile_expression(expression: Expression) -> pl.Expr:
    """The expression over the columns of a block; a `Named` one gives a column of that name."""
    match expression:
        case Ref():
            return pl.col(expression.name)
        case Literal():
            return _literal(expression.value, expression.of)
        case Named():
            return compile_expression(expression.value).alias(expression.name)
        case Cast():
            compiled = _cast(expression)
        case Case():
            compiled = _case(expression)
        case Call():
            compiled = _call(expression)
        case UserCall():
            arguments = [compile_expression(arg) for arg in expression.args]
            compiled = user_call(expression.function, arguments)
        case _:
            raise PenstockBug(f"no way to compute a {type(expression).__name__}")
    if expression.refs or expression.type.is_nested:
        return compiled
    return _fold(compiled, expression.type)


def compile_columns(columns: Sequence[Named]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """From rows to the same rows with these columns."""
    taken = [(c.value.name, c.name) for c in columns if isinstance(c.value, Ref)]
    if columns and len(taken) == len(columns):
        return partial(_renamed, names=taken)
    return partial(project, columns=[compile_expression(column) for column in columns])


def _renamed(rows: pl.DataFrame, names: Sequence[tuple[str, str]]) -> pl.DataFrame:
    """Some columns under other names; one by one, which costs a fifth of asking Polars for them."""
    return pl.DataFrame([rows.get_column(old).alias(new) for old, new in names])


def project(rows: pl.DataFrame, columns: Sequence[pl.Expr]) -> pl.DataFrame:
    """The same rows with these columns, constants repeated for every row.

    A plain `select` of constants only would give one row, whatever the block's height.
    """
    return rows.with_columns(columns).select([column.meta.output_name() for column in columns])


def _literal(value: Any, of: Type) -> pl.Expr:
    if of is Type.DATE:
        return pl.lit(value, dtype=pl.Int32).cast(pl.Date)
    return pl.lit(value, dtype=polars_type(of))


def _fold(compiled: pl.Expr, of: Type) -> pl.Expr:
    """A computation without columns as its value: done once, and not again for every block."""
    value = pl.select(compiled).to_series()
    return _literal(value.to_physical().item() if of is Type.DATE else value.item(), of)


def _cast(expression: Cast) -> pl.Expr:
    given = expression.input
    form = partial(cast, given=given.type, to=expression.to, zone=expression.zone)
    computed = [not isinstance(given, Ref)]
    return apply(form, [compile_expression(given)], computed, polars_type(expression.to))


def _case(case: Case) -> pl.Expr:
    def branch(value: Expression) -> pl.Expr:
        return cast(compile_expression(value), value.type, case.type)

    whole = branch(case.otherwise)
    for condition, value in reversed(case.branches):
        holds = cast(compile_expression(condition), condition.type, Type.BOOLEAN)
        whole = pl.when(holds).then(branch(value)).otherwise(whole)
    return whole


def _call(call: Call) -> pl.Expr:
    function, match = lookup(call.function), call.match
    exact = _with_constant(call)
    if exact is not None:
        return exact
    arguments: list[Any] = []
    for position, (arg, wanted) in enumerate(zip(call.args, match.parameters, strict=True)):
        if position in function.constants:
            value = constant(arg, function.name)
            if value is None:
                return _literal(None, match.result)
            arguments.append(value)
        else:
            arguments.append(_brought(arg, wanted))
    if function.name == "in":
        constants = _constants(call.args[1:], match.parameters[0])
        if constants is not None:
            return logic.is_in_constants(arguments[0], constants)
    if function.name == "pmod" and match.parameters[0].is_integer and _is_positive(call.args[1]):
        return apply(mod, arguments, [False, False], polars_type(match.result))
    if function.name in DECIMAL_FORMS and isinstance(match.parameters[0], DecimalType):
        form: Form = partial(DECIMAL_FORMS[function.name], match.parameters)
    elif function.name in BY_TYPE:
        form = partial(BY_TYPE[function.name], match.parameters)
    else:
        form = FORMS[function.name]
    computed = [not isinstance(arg, Ref) for arg in call.args]
    return apply(form, arguments, computed, polars_type(match.result))


def _with_constant(call: Call) -> pl.Expr | None:
    """An exact number of a row computed with a constant; None: it is something else."""
    name, types = call.function, call.match.parameters
    if name not in decimal_constants.FUNCTIONS or len(call.args) != 2:
        return None
    first, second = types
    if not isinstance(first, DecimalType) or not isinstance(second, DecimalType):
        return None
    left, right = call.args
    value, constant_ = (left, right) if isinstance(right, Literal) else (right, left)
    if not isinstance(constant_, Literal) or constant_.value is None or not value.refs:
        return None
    if not value.type.is_integer and value.type is not types[value is right]:
        return None
    fixed = _brought(constant_, types[value is left])

    def general(column: pl.Expr) -> pl.Expr:
        wide = cast(column, value.type, types[value is right])
        pair = (wide, fixed) if value is left else (fixed, wide)
        return DECIMAL_FORMS[name](types, *pair)

    return decimal_constants.with_constant(
        name,
        (first, second),
        compile_expression(value),
        value.type,
        Decimal(constant_.value),
        general,
        is_left=value is left,
    )


def _is_positive(arg: Expression) -> bool:
    """Whether it is a constant by which Polars' own remainder, rounded down, is not negative."""
    return isinstance(arg, Literal) and arg.value is not None and arg.value > 0


def _brought(arg: Expression, wanted: Type) -> pl.Expr:
    """An argument as the type that the function takes; of constants once, not for every block."""
    value = cast(compile_expression(arg), arg.type, wanted)
    is_exact = isinstance(arg.type, DecimalType) or isinstance(wanted, DecimalType)
    return _fold(value, wanted) if is_exact and not arg.refs else value


#: Types whose constants are the same values in the model and in a block, and compare bit by bit.
_PLAIN = frozenset({Type.STRING, Type.TIMESTAMP, Type.TIMESTAMP_NTZ, Type.INTERVAL}) | {
    type_ for type_ in Type if type_.is_integer
}


def _constants(args: Sequence[Expression], of: Type) -> pl.Series | None:
    """The arguments as one column of values, if that is all they are."""
    values = [
        arg.value
        for arg in args
        if isinstance(arg, Literal)
        and arg.value is not None
        and (arg.of is of or arg.of.is_integer)
    ]
    if len(values) < len(args) or of not in _PLAIN:
        return None
    return pl.Series(values, dtype=polars_type(of))
