"""The group of a row: the same for equal keys, for ever, and all groups get their share."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.exchange.spreading import spread
from tests.engine.draw import examples

VALUES = {
    pl.Int64: st.integers(-(1 << 63), (1 << 63) - 1),
    pl.Float64: st.floats(),
    pl.String: st.text(max_size=5),
    pl.Boolean: st.booleans(),
}


@pytest.mark.parametrize("dtype", VALUES, ids=str)
@examples(20)
@given(st.data())
def test_a_group_depends_on_the_row_alone(dtype, data):
    values = data.draw(st.lists(st.none() | VALUES[dtype], min_size=1, max_size=8))
    rows = pl.DataFrame({"k": values}, {"k": dtype})
    together = spread(rows, ["k"], 5).to_list()
    assert together == [spread(rows[n : n + 1], ["k"], 5).item() for n in range(len(values))]


def test_groups_are_what_they_have_always_been() -> None:
    rows = pl.DataFrame(
        {
            "i": [0, 1, -1, None],
            "t": ["", "a", "penstock", None],
            "f": [0.0, -0.0, float("nan"), None],
            "b": [True, False, None, True],
        }
    )
    assert [spread(rows, [key], 1000).to_list() for key in rows.columns] == KNOWN
    assert spread(rows, ["i", "t"], 1000).to_list() == KNOWN_PAIRS


KNOWN = [[33, 436, 607, 919], [33, 548, 0, 919], [33, 33, 104, 919], [436, 33, 919, 436]]
KNOWN_PAIRS = [911, 503, 222, 262]


def test_equal_numbers_of_different_width_and_both_zeros_meet() -> None:
    narrow, wide = (pl.DataFrame({"k": [7, -7]}, {"k": of}) for of in (pl.Int8, pl.Int64))
    assert spread(narrow, ["k"], 97).to_list() == spread(wide, ["k"], 97).to_list()
    zeros = spread(pl.DataFrame({"k": [0.0, -0.0]}), ["k"], 97).to_list()
    assert zeros[0] == zeros[1]


@pytest.mark.parametrize("step", [1, 2, 64, 1000, 1 << 32])
def test_every_group_gets_its_share(step: int) -> None:
    rows = pl.DataFrame({"k": [n * step for n in range(8000)]})
    shares = spread(rows, ["k"], 8).value_counts()["count"].to_list()
    assert len(shares) == 8 and min(shares) > 850


def test_decimals_and_values_with_parts_have_groups_of_their_own() -> None:
    rows = pl.DataFrame(
        {
            "tags": [["a"], ["a"], None, []],
            "user": [{"x": 1}, {"x": 1}, None, {"x": None}],
            "price": pl.Series(["1.5", "1.50", None, "9" * 36]).cast(pl.Decimal(38, 2)),
        }
    )
    for key in rows.columns:
        first, second, *others = spread(rows, [key], 1 << 20).to_list()
        assert first == second
        assert first not in others
