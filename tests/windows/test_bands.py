"""Join bands: which pairs meet, against the window-oriented definition and two known mistakes.

`widjoin` below is the other way to define a sliding join: extents on both sides, of slide one
tick, and a row pair joins when some extent of the one is paired with some extent of the other.
It gives the band with both ends open.

`join_by_arrival` is what systems did that took the order of arrival for the order of time.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import CannotWindow
from penstock.model.timestamps import MINUTE, SECOND
from penstock.windows import Band, Sliding, TumblingBand, sliding_band, tumbling

times = st.integers(-60, 60)
ranges = st.integers(0, 20)
bands = st.builds(lambda low, width: Band(low, low + width), times, ranges) | st.builds(
    TumblingBand, st.integers(1, 20), times
)


def test_a_row_stays_joinable_for_the_range_of_its_own_side():
    """Main1 [RANGE 3], Main2 [RANGE 2]: a Main2 row comes at most 3 after, or 2 before, Main1's."""
    band = sliding_band(range_left=3, range_right=2)
    assert [right for right in range(-9, 10) if band.joins(0, right)] == [-2, -1, 0, 1, 2, 3]


def test_both_ends_are_closed_so_range_zero_pairs_equal_times():
    assert sliding_band(0, 0) == Band(0, 0)
    assert Band(0, 0).joins(7, 7)
    assert not Band(0, 0).joins(7, 8)


@given(width=st.integers(1, 20), left=times, right=times)
def test_a_tumbling_join_pairs_rows_of_one_window(width, left, right):
    window = tumbling("ts", width)
    same = window.wid_range(left) == window.wid_range(right)
    assert TumblingBand(width).joins(left, right) == same


def test_a_tumbling_window_before_the_origin_is_as_wide_as_any():
    assert [ts for ts in range(-20, 20) if TumblingBand(5).joins(-1, ts)] == [-5, -4, -3, -2, -1]


# --- the window-oriented definition --------------------------------------------------------


def match(ts: int, range_: int) -> range:
    """Extents of the other side that a row is joined with: those numbered like its own."""
    return range(*Sliding("ts", range_, 1).wid_range(ts))


def widjoin(left: int, right: int, range_left: int, range_right: int) -> bool:
    """Whether some extent of left is paired with some extent of right: i with i."""
    other = Sliding("ts", range_right, 1)
    return any(right in range(*other.covers(wid)) for wid in match(left, range_left))


@given(left=times, right=times, range_left=st.integers(1, 20), range_right=st.integers(1, 20))
def test_joining_extents_of_equal_id_is_the_band_with_open_ends(
    left, right, range_left, range_right
):
    strict = left - range_right < right < left + range_left
    assert widjoin(left, right, range_left, range_right) == strict
    assert Band(1 - range_right, range_left - 1).joins(left, right) == strict
    assert strict <= sliding_band(range_left, range_right).joins(left, right)


@given(left=times, right=times, range_left=st.integers(1, 20), range_right=st.integers(1, 20))
def test_match_is_symmetric(left, right, range_left, range_right):
    mine, theirs = match(left, range_left), match(right, range_right)
    assert widjoin(left, right, range_left, range_right) == bool(set(mine) & set(theirs))


# --- what goes wrong when arrival is taken for time ----------------------------------------


def buffered(arrivals: dict[int, int], now: int, range_: int) -> set[int]:
    """Times of the rows that came before `now` and at most `range_` ago; arrivals: ts → when."""
    return {ts for ts, when in arrivals.items() if now - range_ <= when < now}


def join_by_arrival(left, right, range_left, range_right) -> set[tuple[int, int]]:
    """Each row meets what the other side's buffer holds when it comes."""
    met_by_right = {
        (other, ts) for ts, now in right.items() for other in buffered(left, now, range_left)
    }
    met_by_left = {
        (ts, other) for ts, now in left.items() for other in buffered(right, now, range_right)
    }
    return met_by_right | met_by_left


def test_a_side_that_is_a_minute_late_loses_pairs_and_gains_wrong_ones():
    main1 = {ts: ts for ts in range(0, 10 * MINUTE, 10 * SECOND)}
    s = 5 * MINUTE + SECOND
    band = sliding_band(3 * MINUTE, 2 * MINUTE)

    right_answer = {(ts, s) for ts in main1 if band.joins(ts, s)}
    in_time = join_by_arrival(main1, {s: s}, 3 * MINUTE, 2 * MINUTE)
    late = join_by_arrival(main1, {s: s + MINUTE}, 3 * MINUTE, 2 * MINUTE)

    assert in_time == right_answer
    missing = {ts for ts, _ in right_answer - late}
    spurious = {ts for ts, _ in late - right_answer}
    assert missing == {ts for ts in main1 if s - 3 * MINUTE <= ts < s - 2 * MINUTE}
    assert spurious == {ts for ts in main1 if s + 2 * MINUTE < ts <= s + 3 * MINUTE}


def test_buffers_of_sides_five_minutes_apart_hold_rows_that_must_not_meet():
    main1 = {ts: ts + 5 * MINUTE for ts in range(0, 15 * MINUTE, SECOND)}
    main2 = {ts: ts for ts in range(0, 15 * MINUTE, SECOND)}
    now = 11 * MINUTE
    left, right = buffered(main1, now, 3 * MINUTE), buffered(main2, now, 2 * MINUTE)
    assert (min(left), max(left)) == (3 * MINUTE, 6 * MINUTE - SECOND)
    assert (min(right), max(right)) == (9 * MINUTE, 11 * MINUTE - SECOND)

    band = sliding_band(3 * MINUTE, 2 * MINUTE)
    assert not band.joins(min(left), max(right))
    assert band.joins(max(left), min(right) - SECOND)


# --- what cannot be built ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: sliding_band(-1, 5), "must not be negative"),
        (lambda: sliding_band(5, -1), "must not be negative"),
        (lambda: Band(3, 2), "band is empty"),
        (lambda: TumblingBand(0), "must be positive"),
        (lambda: TumblingBand(-5), "must be positive"),
    ],
)
def test_a_band_that_pairs_nothing_is_refused(build, reason):
    with pytest.raises(CannotWindow, match=reason) as refused:
        build()
    assert refused.value.hint is not None


def test_bands_say_what_they_pair():
    band = sliding_band(3 * MINUTE, 2 * MINUTE)
    assert str(band) == "right from 2 minutes before to 3 minutes after left"
    assert str(TumblingBand(5 * MINUTE)) == "both in the same 5 minutes"
