"""Landmark windows: everything so far, at every step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import CannotWindow
from penstock.model.timestamps import MINUTE
from penstock.windows import Landmark

values = st.integers(-100, 100)
lengths = st.integers(1, 20)


@given(value=values, slide=lengths, origin=values, wid=st.integers(-250, 250))
def test_an_extent_holds_a_value_from_its_first_id_on(value, slide, origin, wid):
    window = Landmark("ts", slide, origin)
    _, end = window.bounds(wid)
    assert (value < end) == (wid >= window.wid_range(value)[0])


@given(st.lists(values, min_size=1), lengths)
def test_each_extent_contains_all_earlier_ones(numbers, slide):
    window = Landmark("ts", slide)
    rows = [{"ts": number} for number in numbers]
    sizes = [len(window.extent(wid, rows)) for wid in window.windows(rows)]
    assert sizes == sorted(sizes)
    assert sizes[-1] == len(rows)


def test_a_step_without_rows_is_no_window():
    window = Landmark("ts", slide=10)
    rows = [{"ts": 1}, {"ts": 35}]
    assert list(window.windows(rows)) == [0, 3]
    assert [len(window.extent(wid, rows)) for wid in window.windows(rows)] == [1, 2]


def test_the_ids_of_a_row_are_the_windows_from_its_own_on():
    window = Landmark("ts", slide=10)
    rows = [{"ts": 1}, {"ts": 35}]
    assert list(window.wids(rows[0], rows)) == [0, 3]
    assert list(window.wids(rows[1], rows)) == [3]


def test_it_has_an_end_and_no_beginning():
    assert Landmark("ts", 10).bounds(2) == (None, 30)
    assert Landmark("n", 10, unit="rows").bounds(2) == (None, 31)


@pytest.mark.parametrize("slide", [0, -5])
def test_a_slide_that_is_not_positive_is_refused(slide):
    with pytest.raises(CannotWindow, match=r"SLIDE .*must be positive"):
        Landmark("ts", slide)


def test_it_prints_as_its_clause():
    assert str(Landmark("ts", MINUTE)) == "[RANGE ALL, SLIDE 1 minute, WA ts]"
