"""Conditions for one row at a time, where they depend on the match so far.

The common functions on the common types are closures over Python values; whatever else there is
goes through the compiled expression that blocks are computed with, as a block of one row. Both give
the same: integers wrap, NULL spreads, NaN equals itself and is the greatest number.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import polars as pl

from penstock.kernel.expressions import compile_expression
from penstock.kernel.types import polars_type
from penstock.model.expressions import Call, Expression, Literal, Ref
from penstock.model.functions import lookup
from penstock.model.match import Classifier, MatchAggregate, Navigation, leaves, replaced
from penstock.model.types import Type

Value: TypeAlias = Callable[[tuple[Any, ...], int], Any]
"""What something is, given what is known of the match and the row that is tried."""

_BITS = {Type.TINYINT: 8, Type.SMALLINT: 16, Type.INT: 32, Type.BIGINT: 64}
_WHOLE = {*_BITS, Type.TIMESTAMP, Type.INTERVAL}
_COMPARED = {*_WHOLE, Type.DOUBLE, Type.STRING, Type.BOOLEAN, Type.DATE}

_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_COMPARISONS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def scalar(expression: Expression, read: Callable[[Expression], Value]) -> Value:
    """An expression as a function; `read` gives what its leaves are."""
    match expression:
        case Navigation() | MatchAggregate() | Classifier():
            return read(expression)
        case Literal(value=value, of=of) if of in _COMPARED - {Type.DATE}:
            return lambda known, row: value
        case Call():
            found = _call(expression, read)
            if found is not None:
                return found
    return _as_block(expression, read)


def _call(call: Call, read: Callable[[Expression], Value]) -> Value | None:
    name = call.function
    types = lookup(name).match(tuple(arg.type for arg in call.args)).parameters
    if name in ("and", "or", "not", "is_null", "is_not_null"):
        return _logic(name, [scalar(arg, read) for arg in call.args])
    if not {*types} <= _COMPARED or len(types) != 2:
        return None
    wide = [
        _widened(scalar(arg, read), arg.type, wanted)
        for arg, wanted in zip(call.args, types, strict=True)
    ]
    if None in wide:
        return None
    left, right = (each for each in wide if each is not None)
    if name in _COMPARISONS and types[0] is types[1]:
        return _compared(_COMPARISONS[name], left, right, types[0])
    if name in _ARITHMETIC:
        return _computed(_ARITHMETIC[name], left, right, types, call.type)
    if name == "/" and types == (Type.DOUBLE, Type.DOUBLE):
        return _divided(left, right)
    return None


def _logic(name: str, parts: list[Value]) -> Value:
    first, second = parts[0], parts[-1]
    match name:
        case "is_null":
            return lambda known, row: first(known, row) is None
        case "is_not_null":
            return lambda known, row: first(known, row) is not None
        case "not":

            def negated(known: tuple[Any, ...], row: int) -> Any:
                value = first(known, row)
                return None if value is None else not value

            return negated
    decides = name == "or"

    def both(known: tuple[Any, ...], row: int) -> Any:
        left = first(known, row)
        if left is decides:
            return decides
        right = second(known, row)
        if right is decides:
            return decides
        return None if left is None or right is None else not decides

    return both


def _widened(value: Value, given: Type, wanted: Type) -> Value | None:
    """A value as the type that the function takes; None: that is for blocks."""
    if given in (wanted, Type.NULL) or {given, wanted} <= {*_BITS}:
        return value
    if given in _BITS and wanted is Type.DOUBLE:

        def wide(known: tuple[Any, ...], row: int) -> float | None:
            found = value(known, row)
            return None if found is None else float(found)

        return wide
    return None


def _compared(compare: Callable[..., bool], left: Value, right: Value, of: Type) -> Value:
    is_float = of is Type.DOUBLE

    def result(known: tuple[Any, ...], row: int) -> bool | None:
        mine, theirs = left(known, row), right(known, row)
        if mine is None or theirs is None:
            return None
        if is_float and (mine != mine or theirs != theirs):
            return compare(mine != mine, theirs != theirs)
        return compare(mine, theirs)

    return result


def _computed(
    compute: Callable[..., Any], left: Value, right: Value, types: tuple[Type, ...], gives: Type
) -> Value | None:
    is_float = gives is Type.DOUBLE and set(types) == {Type.DOUBLE}
    is_time = compute is not operator.mul and set(types) <= {Type.TIMESTAMP, Type.INTERVAL}
    if not (is_float or is_time or (set(types) <= {*_BITS} and types[0] is types[1])):
        return None
    half = 1 << (_BITS.get(gives, 64) - 1)

    def result(known: tuple[Any, ...], row: int) -> Any:
        mine, theirs = left(known, row), right(known, row)
        if mine is None or theirs is None:
            return None
        found = compute(mine, theirs)
        return found if is_float else (found + half) % (2 * half) - half

    return result


def _divided(left: Value, right: Value) -> Value:
    def result(known: tuple[Any, ...], row: int) -> float | None:
        mine, theirs = left(known, row), right(known, row)
        if mine is None or theirs is None or theirs == 0:
            return None
        found: float = math.nan if mine != mine or theirs != theirs else mine / theirs
        return found

    return result


def _as_block(expression: Expression, read: Callable[[Expression], Value]) -> Value:
    """Any expression, as a block of one row of what its leaves are."""
    asked = list(dict.fromkeys(leaves(expression)))
    names = {leaf: f"__{number}" for number, leaf in enumerate(asked)}
    values = [read(leaf) for leaf in asked]
    schema = {names[leaf]: polars_type(leaf.type) for leaf in asked} or {"__0": pl.Boolean()}
    computed = compile_expression(replaced(expression, lambda e: Ref(names[e], e.type)))  # type: ignore[index]
    computed = computed.alias("__value")

    def result(known: tuple[Any, ...], row: int) -> Any:
        given = [[value(known, row)] for value in values] or [[None]]
        block = pl.DataFrame(dict(zip(schema, given, strict=True)), schema=schema)
        return block.with_columns(computed).get_column("__value").item()

    return result
