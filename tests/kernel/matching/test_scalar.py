"""Conditions for one row at a time give what the oracle says, on all types and values."""

from __future__ import annotations

import math
from typing import Any

import pytest

from penstock.kernel.matching.scalar import Value, scalar
from penstock.model.expressions import Call, Cast, Expression, Literal
from penstock.model.match import Navigation, replaced
from penstock.model.types import Type
from penstock.oracle.evaluate import close
from penstock.oracle.expressions import value_of

VALUES: dict[Type, list[Any]] = {
    Type.INT: [None, 0, 1, -1, 2**31 - 1, -(2**31)],
    Type.BIGINT: [None, 0, 3, -7, 2**63 - 1, -(2**63)],
    Type.TINYINT: [None, 0, 5, 127, -128],
    Type.DOUBLE: [None, 0.0, 1.5, -2.0, math.nan, math.inf, -math.inf],
    Type.FLOAT: [None, 0.5, 3.0],
    Type.STRING: [None, "", "a", "ä", "b"],
    Type.BOOLEAN: [None, True, False],
    Type.TIMESTAMP: [None, 0, 10, -5],
    Type.INTERVAL: [None, 0, 7],
}
SIGNS = ("+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "<=>", "and", "or", "||")


def leaf(value: Any, of: Type) -> Navigation:
    """Something that the match is asked for, which is that value."""
    return Navigation(Literal(value, of))


def read(given: Expression) -> Value:
    assert isinstance(given, Navigation) and isinstance(given.value, Literal)
    value = given.value.value
    return lambda known, row: value


def check(expression: Expression) -> None:
    ours = scalar(expression, read)((), 0)
    expected = value_of(replaced(expression, lambda e: e.children[0]), {})
    assert close(ours, expected, 1e-9), f"{expression}: {ours!r}, not {expected!r}"


@pytest.mark.parametrize("sign", SIGNS)
def test_two_values_give_what_the_oracle_says(sign: str) -> None:
    checked = 0
    for left, some in VALUES.items():
        for right, others in VALUES.items():
            try:
                Call(sign, (leaf(None, left), leaf(None, right)))
            except Exception:
                continue
            fast = {left, right} <= {Type.INT, Type.BIGINT, Type.DOUBLE, Type.BOOLEAN}
            for mine in some if fast else some[1:3]:
                for theirs in others if fast else others[1:3]:
                    check(Call(sign, (leaf(mine, left), leaf(theirs, right))))
                    checked += 1
    assert checked


def test_other_functions_are_computed_as_blocks_are() -> None:
    x, y = leaf(-5, Type.INT), leaf(2.5, Type.DOUBLE)
    check(Call("abs", (x,)))
    check(Call("coalesce", (leaf(None, Type.INT), x)))
    check(Call("greatest", (Cast(x, Type.DOUBLE), y)))
    check(Call("not", (Call("is_null", (x,)),)))
    check(Call("is_not_null", (leaf(None, Type.STRING),)))
    check(Call("in", (x, Literal(1, Type.INT), Literal(-5, Type.INT))))
    check(Call(">", (Call("length", (leaf("abc", Type.STRING),)), Literal(2, Type.INT))))
