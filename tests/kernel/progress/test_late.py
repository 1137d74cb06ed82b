"""Which rows keep above their stream's bounds."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.progress.late import Split, split
from penstock.model.timestamps import BEGINNING, END


def rows(*times: int | None, dtype: pl.DataType | None = None) -> pl.DataFrame:
    return pl.DataFrame({"ts": list(times)}, schema={"ts": dtype or pl.Int64()})


def times(parts: Split) -> tuple[list[int | None], list[int | None], list[int | None]]:
    return (
        parts.on_time.get_column("ts").to_list(),
        parts.late.get_column("ts").to_list(),
        parts.timeless.get_column("ts").to_list(),
    )


def test_a_row_below_the_bound_is_late_and_one_at_the_bound_is_not() -> None:
    assert times(split(rows(9, 10, 11), "ts", 10, None)) == ([10, 11], [9], [])


def test_in_an_ordered_stream_each_row_is_a_bound_for_the_next() -> None:
    assert times(split(rows(1, 3, 2, 3, 4), "ts", BEGINNING, 0)) == ([1, 3, 3, 4], [2], [])


def test_slack_is_how_far_below_the_newest_a_row_may_come() -> None:
    assert times(split(rows(10, 7, 6, 20, 17, 16), "ts", BEGINNING, 3)) == (
        [10, 7, 20, 17],
        [6, 16],
        [],
    )


def test_a_stream_that_is_punctuated_from_outside_may_come_in_any_order() -> None:
    assert times(split(rows(5, -100, 3), "ts", BEGINNING, None)) == ([5, -100, 3], [], [])


@pytest.mark.parametrize("time", [None, BEGINNING, END, END + 1, -(1 << 63)])
def test_a_row_without_a_place_in_time_is_timeless(time: int | None) -> None:
    assert times(split(rows(1, time, 2), "ts", 0, 0)) == ([1, 2], [], [time])


def test_times_before_1970_are_times() -> None:
    assert times(split(rows(-5, -3, -4), "ts", -5, 1)) == ([-5, -3, -4], [], [])


def test_small_integer_columns_do_not_overflow() -> None:
    parts = split(rows(-128, 127, -128, dtype=pl.Int8()), "ts", BEGINNING, 200)
    assert times(parts) == ([-128, 127], [-128], [])
    assert parts.on_time.schema == {"ts": pl.Int8()}


def test_no_rows_are_split_into_no_rows() -> None:
    assert times(split(rows(), "ts", 0, 0)) == ([], [], [])


@given(
    values=st.lists(st.none() | st.integers(-20, 20), max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=4),
    bound=st.sampled_from([BEGINNING, -5, 0, 10]),
    slack=st.sampled_from([None, 0, 1, 5]),
)
def test_what_is_late_does_not_depend_on_how_rows_are_cut_into_blocks(
    values: list[int | None], cuts: list[int], bound: int, slack: int | None
) -> None:
    """Against one row at a time; between blocks the bound is what follows from the rows so far."""
    expected: tuple[list[int | None], ...] = ([], [], [])
    low = bound
    for value in values:
        if value is None:
            expected[2].append(value)
        elif value < low:
            expected[1].append(value)
        else:
            expected[0].append(value)
            low = max(low, value - slack) if slack is not None else low

    got: tuple[list[int | None], ...] = ([], [], [])
    edges = sorted({0, len(values), *(min(cut, len(values)) for cut in cuts)})
    low = bound
    for start, stop in pairwise(edges):
        parts = times(split(rows(*values[start:stop]), "ts", low, slack))
        for part, into in zip(parts, got, strict=True):
            into += part
        if slack is not None and parts[0]:
            low = max(low, max(t for t in parts[0] if t is not None) - slack)
    assert got == expected
