"""Equal answers are equal however they are ordered; different ones are told apart."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

from penstock.lab.benchmarking import difference

SUMS = {"key": ["a", "b", "b"], "wid": [1, 1, 2], "total": [0.5, 1.5, 2.5]}


def test_the_order_of_rows_and_columns_does_not_count() -> None:
    ours = pl.DataFrame(SUMS)
    assert difference(ours, ours.reverse().select("total", "key", "wid")) is None


def test_an_arrow_table_equals_a_polars_one() -> None:
    assert difference(pl.DataFrame(SUMS), pa.table(SUMS)) is None


def test_widths_of_numbers_do_not_count() -> None:
    wide = pl.DataFrame(SUMS)
    assert difference(wide, wide.cast({"wid": pl.Int32, "total": pl.Float32})) is None


def test_floats_may_differ_in_the_last_digits_only() -> None:
    ours = pl.DataFrame({"x": [1e9, 0.1 + 0.2]})
    assert difference(ours, pl.DataFrame({"x": [1e9 + 0.1, 0.3]})) is None
    assert difference(ours, pl.DataFrame({"x": [1e9 + 10, 0.3]})) is not None


def test_near_floats_do_not_shuffle_the_rows() -> None:
    ours = pl.DataFrame({"avg": [0.3, 0.1 + 0.2], "key": ["b", "a"]})
    rival = pl.DataFrame({"avg": [0.1 + 0.2, 0.3], "key": ["b", "a"]})
    assert difference(ours, rival) is None


@pytest.mark.parametrize("special", [None, float("nan"), float("inf")])
def test_special_values_equal_themselves_and_nothing_else(special: float | None) -> None:
    ours = pl.DataFrame({"x": [special]}, schema={"x": pl.Float64})
    assert difference(ours, ours.clone()) is None
    assert difference(ours, pl.DataFrame({"x": [0.0]})) is not None
    assert difference(pl.DataFrame({"x": [0.0]}), ours) is not None


def test_a_difference_shows_the_row() -> None:
    ours = pl.DataFrame(SUMS)
    found = difference(ours, ours.with_columns(total=pl.Series([0.5, 1.5, 7.0])))
    assert found == (
        "row {'key': 'b', 'wid': 2, 'total': 2.5}, the rival's {'key': 'b', 'wid': 2, 'total': 7.0}"
    )


def test_missing_rows_and_columns_are_told() -> None:
    ours = pl.DataFrame(SUMS)
    assert difference(ours, ours.head(2)) == "3 rows, the rival's 2"
    assert difference(ours, ours.drop("wid")) == "columns key, wid, total; the rival's key, total"


def test_repeated_rows_count() -> None:
    ours = pl.DataFrame({"x": [1, 1, 2]})
    assert difference(ours, pl.DataFrame({"x": [1, 2, 2]})) is not None


def test_text_is_not_a_number() -> None:
    assert difference(pl.DataFrame({"x": [1]}), pl.DataFrame({"x": ["1"]})) is not None


def test_empty_tables_are_equal() -> None:
    ours = pl.DataFrame(SUMS).head(0)
    assert difference(ours, ours.clone()) is None


def test_a_table_is_not_a_value() -> None:
    assert difference(pl.DataFrame(SUMS), 3) == "a DataFrame, the rival's a int"
