"""Filters asked by the order of a column, against the same filters asked of every row."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.expressions.filter_index import (
    WORTH_AN_ORDER,
    Condition,
    FilterIndex,
    Interval,
)
from penstock.model.expressions import Call, Expression, Literal, Ref
from penstock.model.types import Type

X, Y, T = Ref("x", Type.BIGINT), Ref("y", Type.INT), Ref("t", Type.STRING)
LEAST, MOST = -(1 << 63), (1 << 63) - 1

few = st.one_of(st.none(), st.integers(-4, 4))
values = st.one_of(few, st.sampled_from([LEAST, MOST]))
constants = st.one_of(st.integers(-5, 5), st.sampled_from([LEAST, MOST]), st.none())


def number(value: int | None) -> Literal:
    return Literal(value, Type.BIGINT)


@st.composite
def comparisons(draw: Any) -> Expression:
    column = draw(st.sampled_from([X, Y]))
    if draw(st.booleans()):
        among = draw(st.lists(constants, min_size=1, max_size=3))
        return Call("in", (column, *map(number, among)))
    sides = (column, number(draw(constants)))
    sign = draw(st.sampled_from(["=", "<", "<=", ">", ">=", "<>"]))
    return Call(sign, sides if draw(st.booleans()) else sides[::-1])


others = st.sampled_from(
    [
        Call("<", (X, Y)),
        Call("is_null", (Y,)),
        Call("=", (T, Literal("a", Type.STRING))),
    ]
)
conditions = st.recursive(
    st.one_of(comparisons(), others),
    lambda parts: st.builds(
        lambda sign, a, b: Call(sign, (a, b)), st.sampled_from(["and", "and", "or"]), parts, parts
    ),
    max_leaves=5,
)


@given(
    st.lists(st.tuples(values, few, st.sampled_from(["a", "b", None])), max_size=30),
    st.lists(conditions, min_size=1, max_size=WORTH_AN_ORDER + 3),
)
def test_a_filter_takes_the_rows_that_it_takes_by_itself(rows, asked):
    schema = {"x": pl.Int64, "y": pl.Int32, "t": pl.String}
    table = pl.DataFrame(rows, schema=schema, orient="row").with_row_index("place")
    ready = [Condition(each) for each in asked]
    found = {n: np.sort(places).tolist() for n, places in FilterIndex(table).taken(ready)}
    alone = [table.filter(each.compiled).get_column("place").to_list() for each in ready]
    assert found == {n: places for n, places in enumerate(alone) if places}


def test_a_condition_without_a_column_is_asked_all_the_same() -> None:
    table = pl.DataFrame({"x": [1, 2]})
    asked = [Condition(Literal(value, Type.BOOLEAN)) for value in (True, False, None)]
    found = {n: places.tolist() for n, places in FilterIndex(table).taken(asked)}
    assert found == {0: [0, 1]}


@pytest.mark.parametrize(
    ("condition", "columns", "has_rest"),
    [
        (Call("=", (X, number(3))), {"x": (Interval(3, 3),)}, False),
        (Call(">", (number(3), X)), {"x": (Interval(LEAST, 2),)}, False),
        (Call("in", (X, number(9), number(3))), {"x": (Interval(3, 3), Interval(9, 9))}, False),
        (
            Call("and", (Call(">=", (X, number(1))), Call("<", (X, number(5))))),
            {"x": (Interval(1, 4),)},
            False,
        ),
        (
            Call("and", (Call("=", (Y, number(1))), Call("<", (X, Y)))),
            {"y": (Interval(1, 1),)},
            True,
        ),
        (Call("or", (Call("=", (X, number(1))), Call("=", (Y, number(1))))), {}, True),
        (Call("=", (X, number(None))), {}, True),
    ],
)
def test_what_of_a_condition_holds_a_column_against_constants(
    condition: Expression, columns: dict[str, Any], has_rest: bool
) -> None:
    found = Condition(condition).filter
    assert dict(found.columns) == columns
    assert (found.rest is not None) == has_rest
