"""The purge rules against the definition: a row may go when no partner can come any more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.joins.purge import keep_from
from penstock.kernel.joins.reach import Reach
from penstock.model.timestamps import BEGINNING, END
from penstock.windows import Band, JoinBand, TumblingBand

times = st.integers(-60, 60)
bands: st.SearchStrategy[JoinBand] = st.one_of(
    st.builds(lambda low, length: Band(low, low + length), st.integers(-9, 9), st.integers(0, 9)),
    st.builds(TumblingBand, st.integers(1, 9), st.integers(-3, 3)),
)


def partners(band: JoinBand, side: int, ts: int) -> list[int]:
    near = range(ts - 20, ts + 21)
    return [t for t in near if (band.joins(t, ts) if side else band.joins(ts, t))]


@given(bands, st.integers(0, 1), times, times)
def test_a_row_is_kept_exactly_as_long_as_a_partner_can_come(
    band: JoinBand, side: int, ts: int, bound: int
) -> None:
    can_come = max(partners(band, side, ts)) >= bound
    assert (ts >= keep_from(band, side, bound)) == can_come


@given(bands, times, times, times, times)
def test_a_result_that_comes_later_lies_at_or_behind_both_output_bounds(
    band: JoinBand, left: int, right: int, left_bound: int, right_bound: int
) -> None:
    # A later result has a row that comes later; the other may be there already.
    later = left >= left_bound or right >= right_bound
    if not band.joins(left, right) or not later:
        return
    reach = Reach(2, [((0, 1), band)])
    assert left >= reach.output_bound(0, [left_bound, right_bound])
    assert right >= reach.output_bound(1, [left_bound, right_bound])


def test_no_bound_keeps_everything_and_the_last_bound_keeps_nothing() -> None:
    band = Band(low=-5, high=7)
    assert keep_from(band, 0, BEGINNING) == keep_from(band, 1, BEGINNING) == BEGINNING
    assert keep_from(band, 0, END) == keep_from(band, 1, END) == END
