"""Distances: what conditions say about how far apart two columns can lie.

Any comparison that comes down to `second - first <= constant` on columns that can progress says
that, however it is spelled: `a.ts >= b.ts - INTERVAL 5 SECONDS`, `b.ts - a.ts <= …`, BETWEEN.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.expressions import Call, Expression, Literal, Ref
from penstock.model.types import Type

_COMPARISONS = ("<", "<=", ">", ">=", "=")


@dataclass(frozen=True)
class Distance:
    """`low <= second - first <= high`; None: no limit on that side."""

    first: str
    second: str
    low: int | None
    high: int | None

    def mirrored(self) -> Distance:
        """The same, seen from the other column."""
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        return Distance(self.second, self.first, low, high)

    def narrowed(self, other: Distance) -> Distance:
        """What both say together."""
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        return Distance(self.first, self.second, max(lows, default=None), min(highs, default=None))


def bound_of(condition: Expression) -> Distance | None:
    """What a comparison says about the distance of two columns, if it says that.

    >>> a, b = Ref("a", Type.BIGINT), Ref("b", Type.BIGINT)
    >>> bound_of(Call(">", (a, Call("-", (b, Literal(5, Type.INT))))))
    Distance(first='b', second='a', low=-4, high=None)
    """
    if not isinstance(condition, Call) or condition.function not in _COMPARISONS:
        return None
    left, right = (_linear(arg) for arg in condition.args)
    if left is None or right is None:
        return None
    terms, constant = _minus(left, right)
    if sorted(terms.values()) != [-1, 1]:
        return None
    # Now: second - first + constant <operator> 0.
    second = next(name for name, sign in terms.items() if sign == 1)
    first = next(name for name, sign in terms.items() if sign == -1)
    function, limit = condition.function, -constant
    # Ticks are integers: more than 5 is at least 6.
    low = limit + (function == ">") if function in (">", ">=", "=") else None
    high = limit - (function == "<") if function in ("<", "<=", "=") else None
    return Distance(first, second, low, high)


_Linear = tuple[dict[str, int], int]


def _linear(expression: Expression) -> _Linear | None:
    """Columns with their signs, and a constant; None where it is not a sum of those."""
    if isinstance(expression, Ref):
        return ({expression.name: 1}, 0) if expression.type.can_progress else None
    if isinstance(expression, Literal):
        is_distance = expression.of is Type.INTERVAL or expression.of.is_integer
        return ({}, expression.value) if is_distance else None
    if isinstance(expression, Call) and expression.function in ("+", "-"):
        left, right = (_linear(arg) for arg in expression.args)
        if left is None or right is None:
            return None
        return _minus(left, right if expression.function == "-" else _minus(({}, 0), right))
    return None


def _minus(left: _Linear, right: _Linear) -> _Linear:
    terms = dict(left[0])
    for name, sign in right[0].items():
        terms[name] = terms.get(name, 0) - sign
    return {name: sign for name, sign in terms.items() if sign}, left[1] - right[1]


def within(first: Ref, second: Ref, low: int, high: int) -> tuple[Expression, Expression]:
    """`low <= second - first <= high` as conditions.

    >>> a, b = Ref("a", Type.BIGINT), Ref("b", Type.BIGINT)
    >>> print(*within(a, b, -5, 0), sep="; ")
    b >= (a - 5); b <= a
    """
    return Call(">=", (second, _moved(first, low))), Call("<=", (second, _moved(first, high)))


def _moved(column: Ref, distance: int) -> Expression:
    of = Type.INTERVAL if column.of.is_time else Type.BIGINT
    if distance == 0:
        return column
    return Call("-" if distance < 0 else "+", (column, Literal(abs(distance), of)))
