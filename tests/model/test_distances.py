"""What a comparison says about the distance of two columns, it says for every pair of values."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.distances import Distance, bound_of
from penstock.model.expressions import Call, Expression, Literal, Ref
from penstock.model.types import Type

A, B = Ref("a", Type.BIGINT), Ref("b", Type.BIGINT)
OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
numbers = st.integers(-5, 5)


def constant(value: int) -> Expression:
    return Literal(value, Type.INT)


@st.composite
def moved(draw: st.DrawFn, column: Ref) -> tuple[Expression, int]:
    """The column plus a constant, spelled in some way; and the constant."""
    if draw(st.booleans()):
        return column, 0
    distance = draw(numbers)
    match draw(st.integers(0, 2)):
        case 0:
            return Call("+", (column, constant(distance))), distance
        case 1:
            return Call("-", (column, constant(-distance))), distance
        case _:
            return Call("+", (constant(distance), column)), distance


@given(st.data(), st.sampled_from(sorted(OPERATORS)), numbers, numbers, st.booleans())
def test_a_bound_holds_exactly_when_the_comparison_does(
    data: st.DataObject, sign: str, a: int, b: int, apart: bool
) -> None:
    if apart:  # both columns on one side: a - b < c
        limit = data.draw(numbers)
        condition = Call(sign, (Call("-", (A, B)), constant(limit)))
        holds = OPERATORS[sign](a - b, limit)
    else:
        (left, by), (right, other) = data.draw(moved(A)), data.draw(moved(B))
        condition = Call(sign, (left, right))
        holds = OPERATORS[sign](a + by, b + other)
    bound = bound_of(condition)
    assert bound is not None
    for found in (bound, bound.mirrored()):
        values = {"a": a, "b": b}
        distance = values[found.second] - values[found.first]
        low, high = found.low, found.high
        assert holds == ((low is None or low <= distance) and (high is None or distance <= high))


@given(st.lists(st.tuples(st.none() | numbers, st.none() | numbers), min_size=1), numbers)
def test_what_two_bounds_say_together_is_what_both_say(
    bounds: list[tuple[int | None, int | None]], distance: int
) -> None:
    def inside(low: int | None, high: int | None) -> bool:
        return (low is None or low <= distance) and (high is None or distance <= high)

    together = Distance("a", "b", None, None)
    for low, high in bounds:
        together = together.narrowed(Distance("a", "b", low, high))
    assert inside(together.low, together.high) == all(inside(*bound) for bound in bounds)


TEXT = Ref("t", Type.STRING)


@pytest.mark.parametrize(
    "condition",
    [
        Call("=", (TEXT, TEXT)),
        Call("<", (A, constant(5))),
        Call("<", (A, A)),
        Call("<", (Call("+", (A, B)), constant(5))),
        Call("<", (Call("*", (A, constant(2))), B)),
        Call("<", (Call("-", (A, B)), Ref("c", Type.BIGINT))),
        Call("<>", (A, B)),
        Call("not", (Call("<", (A, B)),)),
        Call("=", (Ref("x", Type.DOUBLE), Ref("y", Type.DOUBLE))),
        A,
    ],
    ids=str,
)
def test_other_conditions_bound_nothing(condition: Expression) -> None:
    assert bound_of(condition) is None
