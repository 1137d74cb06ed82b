"""Sliding and tumbling windows: the arithmetic, and the examples of the specification."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import CannotWindow
from penstock.model.timestamps import MINUTE, SECOND
from penstock.windows import Sliding, origin_for_aligned_starts, sliding, tumbling

values = st.integers(-1000, 1000)
lengths = st.integers(1, 50)
origins = st.integers(-60, 60)


@given(value=values, range_=lengths, slide=lengths, origin=origins)
def test_a_value_is_in_an_extent_exactly_when_the_extent_is_among_its_ids(
    value, range_, slide, origin
):
    ids = range(*sliding.wid_bounds(value, range_, slide, origin))
    window = Sliding("ts", range_, slide, origin)
    assert window.wid_range(value) == (ids.start, ids.stop)
    for wid in range(ids.start - 3, ids.stop + 3):
        assert (wid in ids) == (value in range(*window.covers(wid)))


@given(st.lists(values, min_size=1), lengths, lengths, origins)
def test_integers_numpy_and_polars_give_the_same_ids(numbers, range_, slide, origin):
    plain = [sliding.wid_bounds(number, range_, slide, origin) for number in numbers]

    first, end = sliding.wid_bounds(np.array(numbers), range_, slide, origin)
    assert list(zip(first.tolist(), end.tolist(), strict=True)) == plain

    start, stop = sliding.wid_bounds(pl.col("v"), range_, slide, origin)
    frame = pl.DataFrame({"v": numbers}).select(start.alias("start"), stop.alias("stop"))
    assert frame.rows() == plain


def test_values_before_the_origin_round_down_on_all_three():
    assert sliding.wid_bounds(-7, 3, 3) == (-3, -2)
    assert [part.tolist() for part in sliding.wid_bounds(np.array([-7]), 3, 3)] == [[-3], [-2]]
    start, _ = sliding.wid_bounds(pl.col("v"), 3, 3)
    assert pl.DataFrame({"v": [-7]}).select(start).item() == -3


def test_five_seconds_past_the_origin_is_in_the_first_ten_windows_of_ten_minutes():
    assert sliding.wid_bounds(5, range_=600, slide=60) == (0, 10)


def test_the_first_nine_windows_of_ten_minutes_every_minute_are_partial():
    window = Sliding("ts", 10 * MINUTE, MINUTE)
    first_row = 0
    partial = [wid for wid in range(20) if window.bounds(wid)[0] < first_row]
    assert partial == list(range(9))
    assert window.bounds(9) == (0, 10 * MINUTE)
    assert window.bounds(10) == (1 * MINUTE, 11 * MINUTE)


def test_a_partial_window_holds_what_there_is():
    rows = [{"ts": ts * SECOND} for ts in (5, 70, 599, 600)]
    window = Sliding("ts", 10 * MINUTE, MINUTE)
    assert window.extent(0, rows) == rows[:1]
    assert window.extent(1, rows) == rows[:2]
    assert window.extent(9, rows) == rows[:3]
    assert window.extent(10, rows) == rows[1:]


def test_rows_in_the_gaps_of_a_slide_longer_than_the_range_are_in_no_extent():
    window = Sliding("ts", range=2, slide=5)
    rows = [{"ts": ts} for ts in range(10)]
    assert [row["ts"] for row in rows if window.wids(row, rows)] == [3, 4, 8, 9]
    assert window.windows(rows) == [0, 1]


@given(value=values, width=lengths, origin=origins)
def test_a_tumbling_window_has_every_value_once(value, width, origin):
    first, stop = sliding.wid_bounds(value, width, width, origin)
    assert stop - first == 1


def test_tumbling_is_range_equal_to_slide():
    assert tumbling("ts", 60) == Sliding("ts", 60, 60)
    assert tumbling("ts", 60) != Sliding("ts", 60, 30)
    assert tumbling("n", 3, unit="rows") == Sliding("n", 3, 3, unit="rows")


def test_row_numbers_count_from_one_so_the_first_full_window_ends_after_row_r():
    window = Sliding("n", range=3, slide=1, unit="rows")
    rows = [{"n": n} for n in range(1, 6)]
    assert window.origin == 1
    assert [[row["n"] for row in window.extent(wid, rows)] for wid in range(4)] == [
        [1],
        [1, 2],
        [1, 2, 3],
        [2, 3, 4],
    ]


@given(bound=values, range_=lengths, slide=lengths, origin=origins)
def test_closed_windows_get_no_more_rows_and_the_next_one_still_may(bound, range_, slide, origin):
    window = Sliding("ts", range_, slide, origin)
    closed = window.closed_below(bound)
    assert window.covers(closed - 1)[1] <= bound < window.covers(closed)[1]


@given(bound=values, later=st.integers(0, 500), range_=lengths, slide=lengths, origin=origins)
def test_no_row_from_the_bound_on_falls_into_a_closed_window(bound, later, range_, slide, origin):
    first, _ = sliding.wid_bounds(bound + later, range_, slide, origin)
    assert first >= Sliding("ts", range_, slide, origin).closed_below(bound)


def test_eleven_minutes_past_closes_the_windows_up_to_ten():
    assert Sliding("ts", 10 * MINUTE, MINUTE).closed_below(11 * MINUTE) == 11


@given(range_=lengths, slide=lengths, offset=st.integers(-60, 60), wid=values)
def test_aligned_starts_are_multiples_of_the_slide_from_the_offset(range_, slide, offset, wid):
    origin = origin_for_aligned_starts(range_, slide, offset)
    assert 0 <= origin < slide
    assert (Sliding("ts", range_, slide, origin).covers(wid)[0] - offset) % slide == 0


@given(slides=st.integers(1, 9), slide=lengths)
def test_where_the_slide_divides_the_range_starts_are_aligned_anyway(slides, slide):
    assert origin_for_aligned_starts(slides * slide, slide) == 0


@pytest.mark.parametrize("length", [0, -1, -600])
@pytest.mark.parametrize("name", ["RANGE", "SLIDE"])
@pytest.mark.parametrize("unit", ["time", "rows"])
def test_a_length_that_is_not_positive_is_refused(name, length, unit):
    range_, slide = (length, 5) if name == "RANGE" else (5, length)
    with pytest.raises(CannotWindow, match=f"{name} .*must be positive") as refused:
        Sliding("ts", range_, slide, unit=unit)
    assert refused.value.hint is not None


def test_it_prints_as_its_clause():
    assert str(Sliding("ts", 10 * MINUTE, MINUTE)) == "[RANGE 10 minutes, SLIDE 1 minute, WA ts]"
    assert (
        str(Sliding("row_num", 1000, 1, unit="rows"))
        == "[RANGE 1000 rows, SLIDE 1 row, WA row_num]"
    )
    assert str(Sliding("ts", 10 * MINUTE, 3 * MINUTE, MINUTE)).endswith(", ORIGIN 1 minute]")
