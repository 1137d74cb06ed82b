"""Every aggregate function against the slow one, in one piece and merged from pieces."""

from __future__ import annotations

import json
import math
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.aggregates import FUNCTIONS
from penstock.kernel.aggregates.count import Count
from penstock.kernel.aggregates.function import Function
from penstock.kernel.aggregates.grouping import Columns, Grouping
from penstock.kernel.aggregates.sum import Sum
from penstock.kernel.types import polars_type
from penstock.model.aggregate_functions import AGGREGATES, SPELLINGS
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Ref
from penstock.model.types import Type
from penstock.oracle.aggregates import aggregate
from penstock.oracle.evaluate import close

NAMES = ["avg", "count", "max", "min", "stddev_pop", "stddev_samp", "sum", "var_pop", "var_samp"]
NAMES += ["count_distinct", "sum_distinct"]

# Sums of eighths are exact, so that answers need not differ by more than the last digits.
eighths = st.integers(-(2**20), 2**20).map(lambda number: number / 8) | st.just(math.nan)

VALUES = {
    Type.TINYINT: st.integers(-128, 127),
    Type.INT: st.integers(-(2**31), 2**31 - 1),
    Type.BIGINT: st.integers(-(2**53), 2**53),
    Type.FLOAT: eighths,
    Type.DOUBLE: eighths,
    Type.STRING: st.text(max_size=3),
    Type.BOOLEAN: st.booleans(),
    Type.BINARY: st.binary(max_size=3),
    Type.DATE: st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    Type.TIMESTAMP: st.integers(-(10**15), 10**15),
}


def start(function: Function, rows: Columns, groups: Grouping) -> Columns:
    return {
        name: column
        for part in function.parts
        for name, column in zip(part.columns, part.start(rows, groups), strict=True)
    }


def merge(function: Function, partials: Columns, groups: Grouping) -> Columns:
    return {
        name: column
        for part in function.parts
        for name, column in zip(part.columns, part.merge(partials, groups), strict=True)
    }


def in_one_piece(function: Function, values: pl.Series, groups: Grouping) -> list[Any]:
    return function.result(start(function, {"x": values}, groups)).to_list()


def only_group(rows: int) -> Grouping:
    return Grouping(np.zeros(rows, dtype=np.int64), 1)


def of_values(name: str, values: list[Any], of: Type = Type.DOUBLE) -> Any:
    column = pl.Series(values, dtype=polars_type(of))
    [answer] = in_one_piece(FUNCTIONS[name]("x", of), column, only_group(len(values)))
    return answer


def test_every_aggregate_of_the_language_has_exactly_one_implementation():
    assert list(FUNCTIONS) == list(AGGREGATES)


def test_every_spelling_is_of_one_function_only():
    written = [s.name for function in AGGREGATES.values() for s in function.spellings]
    assert len(written) == len(set(written)) == len(SPELLINGS)


def test_distinct_leads_to_functions_that_exist():
    assert {f.distinct for f in AGGREGATES.values()} - {None} <= set(AGGREGATES)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_that_are_said_to_be_invertible_keep_exact_counts_and_sums_only(name):
    for of in Type:
        parts = FUNCTIONS[name]("x", of).parts
        exact = all(
            isinstance(part, Count) or (isinstance(part, Sum) and part.is_exact) for part in parts
        )
        assert (of in AGGREGATES[name].invertible_of) == exact, of


@st.composite
def columns(draw):
    of = draw(st.sampled_from(sorted(VALUES, key=str)))
    values = draw(st.lists(st.none() | VALUES[of], min_size=1, max_size=30))
    names = NAMES if of.is_numeric else ["count", "count_distinct", "min", "max"]
    ids = draw(st.lists(st.integers(0, 4), min_size=len(values), max_size=len(values)))
    _, numbers = np.unique(ids, return_inverse=True)
    return draw(st.sampled_from(names)), of, values, numbers.astype(np.int64)


def expected(name: str, values: list[Any], ids: np.ndarray) -> list[Any]:
    return [
        aggregate(
            [{"x": v} for v, i in zip(values, ids, strict=True) if i == group],
            name,
            lambda row: row["x"],
        )
        for group in range(int(ids.max()) + 1)
    ]


@given(st.lists(st.none() | st.text(max_size=3), min_size=1), st.integers(0, 30))
def test_a_set_of_texts_is_in_order_however_they_came_and_in_however_many_pieces(values, cut):
    function, one = FUNCTIONS["collect_set"]("x", Type.STRING), only_group(1)
    pieces = [piece for piece in (values[:cut], values[cut:]) if piece]
    partials = [
        start(function, {"x": pl.Series(piece, dtype=pl.String)}, only_group(len(piece)))
        for piece in pieces
    ]
    both = {name: pl.concat([p[name] for p in partials]) for name in partials[0]}
    merged = merge(function, both, only_group(len(pieces)))
    [answer] = function.result(merged).to_list()
    wanted = sorted({value for value in values if value is not None})
    assert json.loads(answer) == wanted
    assert function.result(merge(function, merged, one)).to_list() == [answer]


@given(columns())
def test_it_answers_as_the_slow_one_does(case):
    name, of, values, ids = case
    column = pl.Series(values, dtype=polars_type(of))
    answers = in_one_piece(FUNCTIONS[name]("x", of), column, Grouping(ids, int(ids.max()) + 1))
    wanted = expected(name, column.to_list(), ids)
    assert all(close(a, b, 1e-6) for a, b in zip(answers, wanted, strict=True)), (answers, wanted)


@given(columns(), st.integers(1, 6))
def test_partials_of_pieces_merge_to_those_of_the_whole(case, pieces):
    name, of, values, ids = case
    function = FUNCTIONS[name]("x", of)
    column = pl.Series(values, dtype=polars_type(of))
    parts, groups_of_parts = [], []
    for piece in range(pieces):
        some = ids[piece::pieces]
        if not len(some):
            continue
        present, numbers = np.unique(some, return_inverse=True)
        rows = {"x": column.gather_every(pieces, piece)}
        parts.append(pl.DataFrame(start(function, rows, Grouping(numbers, len(present)))))
        groups_of_parts.append(present)
    partials = {c.name: c for c in pl.concat(parts).get_columns()}
    merged = merge(
        function, partials, Grouping(np.concatenate(groups_of_parts), int(ids.max()) + 1)
    )
    answers = function.result(merged).to_list()
    wanted = expected(name, column.to_list(), ids)
    assert all(close(a, b, 1e-6) for a, b in zip(answers, wanted, strict=True)), (answers, wanted)


@pytest.mark.parametrize("of", [Type.INT, Type.BIGINT, Type.DOUBLE, Type.NULL])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_nulls_is_null_except_for_the_count(name, of):
    assert of_values(name, [None, None], of) == (0 if name.startswith("count") else None)


def test_the_count_of_rows_counts_rows_without_a_value_too():
    function = FUNCTIONS["count"](None, None)
    groups = Grouping(np.array([0, 1, 0]), 2)
    assert function.result(start(function, {}, groups)).to_list() == [2, 1]


@pytest.mark.parametrize("name", ["var_samp", "stddev_samp"])
def test_a_sample_of_one_has_no_spread(name):
    assert of_values(name, [5.0]) is None
    assert of_values(name.replace("samp", "pop"), [5.0]) == 0.0


def test_the_variance_of_values_far_from_zero_keeps_its_digits():
    # With sums of squares nothing would be left: 1e9² has no digits below 1.
    values = [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16]
    assert of_values("var_samp", values) == pytest.approx(30.0, rel=1e-12)


def test_merging_the_variance_of_values_far_from_zero_keeps_its_digits():
    function = FUNCTIONS["var_samp"]("x", Type.DOUBLE)
    values = pl.Series([1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16])
    pieces = start(function, {"x": values}, Grouping(np.array([0, 0, 1, 1]), 2))
    [answer] = function.result(merge(function, pieces, only_group(2))).to_list()
    assert answer == pytest.approx(30.0, rel=1e-12)


def test_sums_of_small_integers_do_not_overflow_their_type():
    assert of_values("sum", [127] * 10, Type.TINYINT) == 1270
    assert of_values("avg", [2**31 - 1] * 3, Type.INT) == 2**31 - 1


def test_a_bigint_sum_wraps_around_but_the_average_does_not():
    assert of_values("sum", [2**63 - 1, 1], Type.BIGINT) == -(2**63)
    assert of_values("avg", [2**63 - 1, 2**63 - 1], Type.BIGINT) == pytest.approx(2.0**63)


def test_infinities_that_meet_are_not_a_number():
    assert math.isnan(of_values("sum", [math.inf, -math.inf]))


@pytest.mark.parametrize("of", [Type.FLOAT, Type.DOUBLE])
def test_nan_is_greater_than_any_number(of):
    assert math.isnan(of_values("max", [1.0, math.nan, math.inf], of))
    assert of_values("min", [math.nan, 1.0], of) == 1.0
    assert math.isnan(of_values("min", [math.nan, None], of))


@pytest.mark.parametrize(
    ("name", "of"),
    [
        (name, of)
        for name in NAMES
        for of in VALUES
        if of.is_numeric or name in ("count", "min", "max")
    ],
    ids=str,
)
def test_results_have_the_type_that_the_plan_says(name, of):
    function = FUNCTIONS[name]("x", of)
    rows = {"x": pl.Series([None, None], dtype=polars_type(of))}
    answer = function.result(start(function, rows, only_group(2)))
    assert answer.dtype == polars_type(Aggregate(name, Ref("x", of)).type)


def test_functions_share_the_parts_that_are_equal():
    parts = [
        part
        for name in ("sum", "count", "avg", "var_samp", "stddev_pop")
        for part in FUNCTIONS[name]("x", Type.INT).parts
    ]
    assert [column for part in dict.fromkeys(parts) for column in part.columns] == [
        "__sum(x)",
        "__count(x)",
        "__m2(x)",
        "__mean(x)",
    ]
