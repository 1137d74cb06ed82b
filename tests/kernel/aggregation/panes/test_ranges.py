"""Ranges: cutting and sorting change nothing about which partials hold for which wids."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.aggregation.panes.ranges import Ranges, in_order, stack
from penstock.kernel.aggregation.wid.bucket import WID_END, WID_START

cases = st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 12)), min_size=1, max_size=12)


def ranges_of(case) -> Ranges:
    start = np.array([begin for begin, _ in case])
    stop = start + np.array([length for _, length in case])
    return Ranges(start, stop, {"row": pl.Series(range(len(case)))})


def covered(ranges: Ranges) -> list[tuple[int, int]]:
    rows = ranges.columns["row"].to_list()
    return sorted(
        (row, wid)
        for row, start, stop in zip(rows, ranges.start, ranges.stop, strict=True)
        for wid in range(start, stop)
    )


@given(cases, st.integers(-25, 35))
def test_after_a_cut_no_range_reaches_across_the_bound(case, bound):
    whole = ranges_of(case)
    parts, origin = whole.cut_at(bound)
    assert all((parts.stop <= bound) | (parts.start >= bound))
    assert covered(parts) == covered(whole)
    assert parts.columns["row"].to_list() == origin.tolist()


@given(cases)
def test_a_segment_is_sorted_by_its_first_wid_and_holds_the_same(case):
    whole = ranges_of(case)
    segment = whole.segment()
    assert segment[WID_START].is_sorted()
    assert segment.columns == [WID_START, WID_END, "row"]
    [again, layers] = stack([segment])
    assert covered(again) == covered(whole)
    assert set(layers.tolist()) == {0}


@given(cases, cases)
def test_a_stack_knows_which_segment_a_range_is_from(first, second):
    segments = [ranges_of(case).segment() for case in (first, second)]
    both, layers = stack(segments)
    for number, case in enumerate((first, second)):
        only = both.take(np.flatnonzero(layers == number))
        assert covered(only) == covered(ranges_of(case))


@given(st.lists(st.integers(-(2**62), 2**62) | st.integers(0, 5), min_size=1))
def test_equal_values_keep_their_order(values):
    order = in_order(np.array(values)).tolist()
    assert order == sorted(range(len(values)), key=lambda place: values[place])
