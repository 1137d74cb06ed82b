"""Constants that are written as sums and products: `INTERVAL 1 HOUR + INTERVAL 5 MINUTES`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from penstock.errors import TypeMismatch
from penstock.model.expressions import Call, Expression, constant
from penstock.model.timestamps import BEGINNING, DAY, END
from penstock.model.types import Type

#: Types of less than 64 bits, and what fits in these.
LIMITS = {
    Type.TINYINT: (-(1 << 7), (1 << 7) - 1),
    Type.SMALLINT: (-(1 << 15), (1 << 15) - 1),
    Type.INT: (-(1 << 31), (1 << 31) - 1),
    Type.DATE: (BEGINNING // DAY, END // DAY),
}

_FOLDED: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


def folded(expression: Expression) -> Any:
    """The value of an expression without columns; None where it would have to be computed.

    >>> from penstock.model.expressions import Literal
    >>> folded(Call("*", (Literal(2, Type.INT), Call("+", (Literal(1, Type.INT),) * 2))))
    4
    """
    if expression.refs:
        return None
    if isinstance(expression, Call) and expression.function in _FOLDED:
        values = [folded(arg) for arg in expression.args]
        low, high = LIMITS.get(expression.type, (BEGINNING, END))
        is_number = expression.type.is_integer or expression.type is Type.INTERVAL
        is_number = is_number and all(arg.type is not Type.DATE for arg in expression.args)
        if not is_number or not all(type(value) is int for value in values):
            return None
        value = _FOLDED[expression.function](*values)
        return value if low <= value <= high else None
    try:
        return constant(expression, "")
    except TypeMismatch:
        return None
