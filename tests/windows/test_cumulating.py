"""Cumulating windows: periods, reported as they fill."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import CannotWindow
from penstock.model.timestamps import HOUR, MINUTE
from penstock.windows import Cumulating, Sliding

values = st.integers(-500, 500)
steps = st.integers(1, 20)
counts = st.integers(1, 6)


def test_extents_start_with_the_period_and_end_a_step_apart():
    window = Cumulating("ts", step=10, size=30)
    assert [window.bounds(wid) for wid in range(-1, 4)] == [
        (-30, 0),
        (0, 10),
        (0, 20),
        (0, 30),
        (30, 40),
    ]


@given(value=values, step=steps, count=counts, origin=values)
def test_a_value_is_in_an_extent_exactly_when_the_extent_is_among_its_ids(
    value, step, count, origin
):
    window = Cumulating("ts", step, step * count, origin)
    first, end = window.wid_range(value)
    assert 1 <= end - first <= count
    for wid in range(first - 3, end + 3):
        inside = value in range(*window.covers(wid))
        assert inside == (first <= wid < end)


@given(bound=values, step=steps, count=counts, origin=values)
def test_extents_close_like_those_of_a_tumbling_window_of_one_step(bound, step, count, origin):
    window = Cumulating("ts", step, step * count, origin)
    closed = Sliding("ts", step, step, origin).closed_below(bound)
    assert closed == window.closed_below(bound)
    assert window.covers(closed - 1)[1] <= bound < window.covers(closed)[1]


@given(wid=st.integers(-50, 50), step=steps, count=counts)
def test_ids_are_ordered_by_the_end(wid, step, count):
    window = Cumulating("ts", step, step * count)
    assert window.bounds(wid)[1] + step == window.bounds(wid + 1)[1]


def test_a_size_that_is_not_a_multiple_of_the_step_is_refused():
    with pytest.raises(CannotWindow, match="cumulate 1 hour in steps of 25 minutes") as refused:
        Cumulating("ts", 25 * MINUTE, HOUR)
    assert "multiple" in str(refused.value)


@pytest.mark.parametrize(("step", "size"), [(0, 10), (10, 0), (-10, 10), (10, -10)])
def test_a_length_that_is_not_positive_is_refused(step, size):
    with pytest.raises(CannotWindow, match="must be positive"):
        Cumulating("ts", step, size)


def test_it_prints_as_its_function():
    assert str(Cumulating("ts", 10 * MINUTE, HOUR)) == "CUMULATE(ts, 10 minutes, 1 hour)"
