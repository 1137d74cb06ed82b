"""Keys: equal keys, equal numbers; whatever the types."""

from __future__ import annotations

import math
from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.aggregates.keys import Codes, code_integers, combine, group_rows

KINDS = {
    pl.Int64: st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3),
    pl.Int8: st.integers(-128, 127),
    pl.Float64: st.floats() | st.sampled_from([0.0, -0.0, math.nan]),
    pl.String: st.text(max_size=2),
    pl.Binary: st.binary(max_size=2),
    pl.Boolean: st.booleans(),
    pl.Date: st.dates(date(1900, 1, 1), date(2100, 1, 1)),
}


@st.composite
def key_columns(draw):
    rows = draw(st.integers(1, 20))
    kinds = draw(st.lists(st.sampled_from(list(KINDS)), max_size=4))
    return rows, [
        pl.Series(draw(st.lists(st.none() | KINDS[kind], min_size=rows, max_size=rows)), dtype=kind)
        for kind in kinds
    ]


def plain(value):
    """What makes two values one key."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


@given(key_columns())
def test_rows_are_in_one_group_exactly_when_their_keys_are_equal(case):
    rows, columns = case
    groups = group_rows(columns, rows)
    keys = [tuple(plain(column[row]) for column in columns) for row in range(rows)]
    for i in range(rows):
        for j in range(rows):
            assert (keys[i] == keys[j]) == (groups.ids[i] == groups.ids[j])
    assert set(groups.ids.tolist()) == set(range(groups.size))
    assert groups.ids[groups.members].tolist() == list(range(groups.size))


@given(st.lists(st.integers(0, 9) | st.integers(0, 2**40), min_size=1), st.integers(-5, 5))
def test_the_codes_that_occur_are_in_order_and_each_there_once(values, low):
    codes = code_integers(np.array(values) + low)
    assert codes.occurring().tolist() == sorted({value - min(values) for value in values})


@given(
    st.lists(
        st.tuples(
            st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3),
            st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2),
        ),
        min_size=1,
    )
)
def test_groups_of_integers_are_numbered_in_the_order_of_their_keys(pairs):
    digits = [code_integers(np.array(column)) for column in zip(*pairs, strict=True)]
    groups = combine(digits, len(pairs)).groups()
    order = sorted(set(pairs))
    assert [order.index(pair) for pair in pairs] == groups.ids.tolist()


@pytest.mark.parametrize("far", [1, 10**6, 2**40], ids=["dense", "wide", "sparse"])
def test_it_makes_no_difference_whether_codes_are_looked_up_or_sorted(far):
    codes = np.array([5, 0, 5, 2, 0]) * far
    assert Codes(codes, 5 * far + 1).groups().ids.tolist() == [2, 0, 2, 1, 0]


def test_without_keys_all_rows_are_one_group():
    assert group_rows([], 3).ids.tolist() == [0, 0, 0]
