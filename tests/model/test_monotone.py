"""Monotone expressions: bounds against the values that rows have, by the oracle's interpreter."""

from __future__ import annotations

import random

import pytest

from penstock.model.expressions import Call, Expression, Literal, Ref
from penstock.model.monotone import monotone
from penstock.model.timestamps import BEGINNING, DAY, END, HOUR, MINUTE, SECOND
from penstock.model.types import Type
from penstock.oracle.expressions import value_of
from tests.model.monotone_cases import MONOTONE, NOT_MONOTONE, OTHER, TS, interval, trunc


def drawn(rng: random.Random, of: Type) -> int:
    """A value of a column, near to others and to the ends of its type."""
    if of is Type.TIMESTAMP:
        return rng.choice((0, 951_782_400, -86_400)) * SECOND + rng.randint(-40 * DAY, 400 * DAY)
    if of is Type.SMALLINT:
        return rng.choice((rng.randint(-20, 20), -(1 << 15) + rng.randint(0, 9), (1 << 15) - 1))
    return rng.choice(
        (rng.randint(-40, 40), END - rng.randint(1, 9), BEGINNING + rng.randint(20, 29))
    )


@pytest.mark.parametrize("expression", MONOTONE, ids=str)
def test_a_bound_goes_through_as_the_least_value_that_can_come(expression: Expression) -> None:
    rng = random.Random(7)
    found = monotone(expression)
    assert found is not None
    [name] = found.columns
    of = next(e for e in expression.walk() if isinstance(e, Ref)).of
    values = sorted(drawn(rng, of) for _ in range(300))
    computed = [value_of(expression, {name: value}) for value in values]
    for place, value in enumerate(values):
        bound = found.bound({name: value})
        # What is beyond the ends of time is NULL, and lies below nothing.
        rest = [each for each in computed[place:] if each is not None]
        assert bound == BEGINNING or bound <= min(rest, default=END)
        assert bound in (computed[place], *found.limits, BEGINNING, END - 1)
        if bound == computed[place]:  # it has not wrapped around
            assert found.value({name: value}) == computed[place]
            assert found.highest({name: value}) == computed[place]


@pytest.mark.parametrize("expression", MONOTONE, ids=str)
def test_the_bound_that_is_needed_is_the_least_that_is_enough(expression: Expression) -> None:
    rng = random.Random(8)
    found = monotone(expression)
    assert found is not None
    [name] = found.columns
    for _ in range(50):
        of = next(e for e in expression.walk() if isinstance(e, Ref)).of
        bound = found.bound({name: drawn(rng, of)}) + rng.randint(-2, 2)
        [needs] = found.needed(bound)
        needed = needs[name]
        assert found.bound({name: needed}) >= bound
        assert found.bound({name: needed - 1}) < bound


@pytest.mark.parametrize("expression", NOT_MONOTONE, ids=str)
def test_what_can_fall_has_no_bound(expression: Expression) -> None:
    assert monotone(expression) is None


@pytest.mark.parametrize("expression", MONOTONE, ids=str)
def test_the_ends_of_all_time_stay_where_they_are(expression: Expression) -> None:
    found = monotone(expression)
    assert found is not None
    [name] = found.columns
    assert (found.bound({name: BEGINNING}), found.bound({name: END})) == (BEGINNING, END)
    assert found.needed(END) == [{name: END}]
    assert found.bound({name: END - 1}) < END


def test_only_the_end_of_a_stream_has_the_end_as_its_bound() -> None:
    found = monotone(Call("+", (TS, interval(HOUR))))
    assert found is not None and found.bound({"ts": END - 1}) == END - 1


def test_the_greatest_of_two_has_the_greater_bound() -> None:
    found = monotone(Call("greatest", (TS, trunc("minute", OTHER))))
    assert found is not None
    assert found.bound({"ts": 70 * SECOND, "other": 150 * SECOND}) == 120 * SECOND
    assert found.bound({"ts": 70 * SECOND}) == 70 * SECOND
    assert found.needed(90) == [{"ts": 90}, {"other": MINUTE}]


def test_the_least_of_two_has_the_lesser_bound() -> None:
    found = monotone(trunc("minute", Call("least", (TS, OTHER))))
    assert found is not None
    assert found.bound({"ts": 70 * SECOND, "other": 150 * SECOND}) == MINUTE
    assert found.bound({"ts": 70 * SECOND}) == BEGINNING
    assert found.needed(90) == [{"ts": MINUTE, "other": MINUTE}]


@pytest.mark.parametrize(
    ("nullable", "bound"), [((), 9), (("ts",), 9), (("other",), 5), (("ts", "other"), 5)]
)
def test_a_column_with_nulls_does_not_raise_the_bound_of_the_greatest(nullable, bound) -> None:
    found = monotone(Call("greatest", (TS, OTHER)), nullable)
    assert found is not None and found.bound({"ts": 5, "other": 9}) == bound


@pytest.mark.parametrize("function", ["greatest", "least"])
def test_a_constant_takes_the_place_of_a_null_and_may_lie_below_the_bound(function: str) -> None:
    expression = Call(function, (TS, Literal(DAY, Type.TIMESTAMP)))
    assert monotone(expression) is not None
    assert monotone(expression, ["ts"]) is None


@pytest.mark.parametrize("n", [1 << 61, 4611686018427, 4611686018428, -(1 << 61)])
@pytest.mark.parametrize("function", ["timestamp_seconds", "timestamp_millis"])
def test_beyond_the_ends_of_time_there_is_nothing(function: str, n: int) -> None:
    expression = Call(function, (Ref("n", Type.BIGINT),))
    found = monotone(expression)
    assert found is not None and found.is_nullable
    assert found.value({"n": n}) == value_of(expression, {"n": n})


@pytest.mark.parametrize("function", ["greatest", "least"])
@pytest.mark.parametrize("nullable", [(), ("ts",), ("other",), ("ts", "other")])
def test_no_row_lies_below_the_bound_of_an_extreme(function: str, nullable: tuple[str]) -> None:
    rng = random.Random(9)
    expression = Call(function, (Call("+", (TS, interval(3))), OTHER))
    found = monotone(expression, nullable)
    assert found is not None
    for _ in range(300):
        bounds = {"ts": rng.randint(0, 9), "other": rng.randint(0, 9)}
        row = {
            name: None if name in nullable and rng.random() < 0.5 else rng.randint(bound, 9)
            for name, bound in bounds.items()
        }
        value = value_of(expression, row)
        assert found.value(row) == value
        assert value is None or value >= found.bound(bounds)
        high = dict.fromkeys(bounds, 9)
        assert value is None or value <= found.highest(high)
