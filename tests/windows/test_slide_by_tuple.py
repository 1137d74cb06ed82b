"""Windows that move with the rows."""

from __future__ import annotations

import pytest

from penstock.errors import CannotWindow
from penstock.model.timestamps import MINUTE
from penstock.windows import SlideByRank, SlideByRowNumber, SlideByTuple

# Row numbers tell the order of arrival; times 3 and 8 came late.
ROWS = [{"n": n, "ts": ts} for n, ts in enumerate([1, 4, 3, 9, 8, 12], start=1)]


def times(rows):
    return [row["ts"] for row in rows]


def test_every_row_ends_an_extent():
    window = SlideByTuple("ts", range=5)
    assert window.windows(ROWS) == [1, 3, 4, 8, 9, 12]
    assert times(window.extent(8, ROWS)) == [4, 8]


def test_an_extent_is_open_on_the_left_and_closed_on_the_right():
    window = SlideByTuple("ts", range=5)
    assert times(window.extent(9, ROWS)) == [9, 8]  # 4 = 9 - 5 is out, 9 is in
    assert window.bounds(9) == (5, 10)


def test_every_second_row_by_number_ends_an_extent():
    window = SlideByRowNumber("ts", range=5, every=2, slide_on="n")
    assert window.windows(ROWS) == [4, 9, 12]
    assert times(window.extent(4, ROWS)) == [1, 4, 3]


def test_every_second_row_by_rank_ends_an_extent():
    window = SlideByRank("ts", range=5, every=2)
    assert window.windows(ROWS) == [3, 8, 12]
    assert times(window.extent(3, ROWS)) == [1, 3]


def test_with_a_slide_of_one_row_the_three_kinds_agree():
    by_tuple = SlideByTuple("ts", 5)
    by_number, by_rank = SlideByRowNumber("ts", 5, 1, "n"), SlideByRank("ts", 5, 1)
    assert by_tuple.windows(ROWS) == by_number.windows(ROWS) == by_rank.windows(ROWS)


def test_by_rank_a_slide_beyond_the_rows_ends_no_extent():
    assert SlideByRank("ts", 5, 7).windows(ROWS) == []


def test_rows_that_end_an_extent_at_the_same_value_end_the_same_one():
    twins = [{"ts": 2}, {"ts": 2}, {"ts": 3}]
    assert SlideByTuple("ts", 5).windows(twins) == [2, 3]
    assert SlideByTuple("ts", 5).extent(2, twins) == twins[:2]


def test_equal_values_take_ranks_of_their_own():
    twins = [{"ts": 2}, {"ts": 2}, {"ts": 3}]
    assert SlideByRank("ts", 5, 2).windows(twins) == [2]
    assert SlideByRank("ts", 5, 3).windows(twins) == [3]


@pytest.mark.parametrize("length", [0, -1])
def test_a_length_that_is_not_positive_is_refused(length):
    for build in (
        lambda: SlideByTuple("ts", length),
        lambda: SlideByRowNumber("ts", length, 1, "n"),
        lambda: SlideByRowNumber("ts", 1, length, "n"),
        lambda: SlideByRank("ts", length, 1),
        lambda: SlideByRank("ts", 1, length),
    ):
        with pytest.raises(CannotWindow, match="must be positive"):
            build()


def test_they_print_as_their_clauses():
    head = "[RANGE 5 minutes, RATTR ts, SLIDE"
    assert str(SlideByTuple("ts", 5 * MINUTE)) == f"{head} 1 row, SATTR rank(ts)]"
    assert str(SlideByRowNumber("ts", 5 * MINUTE, 1, "n")) == f"{head} 1 row, SATTR n]"
    assert str(SlideByRank("ts", 5 * MINUTE, 5)) == f"{head} 5 rows, SATTR rank(ts)]"
