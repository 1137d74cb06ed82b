"""Bucket: rows get their windows' ids, bounds become bounds on ids."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.aggregation.wid.bucket import WID, WID_END, WID_START, Bucket
from penstock.kernel.block import Block
from penstock.kernel.buffer import Buffer
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING, END, MINUTE, SECOND
from penstock.windows import Sliding, tumbling


def put(window: Sliding, *items: pl.DataFrame | Punctuation) -> tuple[list, Bucket]:
    bucket, out = Bucket(window), Buffer()
    cursor = out.reader()
    for item in items:
        if isinstance(item, Punctuation):
            bucket.on_punctuation(0, item, out)
        else:
            bucket.on_batch(0, Block(item), out)
    found = []
    while not cursor.empty:
        found.append(cursor.take())
    return found, bucket


def tags(window: Sliding, values: list[int | None], dtype: type[pl.DataType] = pl.Int64) -> list:
    items, _ = put(window, pl.DataFrame({"ts": pl.Series(values, dtype=dtype)}))
    return [row for block in items for row in block.rows.select(WID_START, WID_END).rows()]


def test_a_row_of_the_windows_10_to_19_is_tagged_so():
    window = Sliding("ts", 10 * MINUTE, MINUTE)
    assert tags(window, [10 * MINUTE + 30 * SECOND]) == [(10, 20)]


@given(
    values=st.lists(st.integers(-500, 500), min_size=1),
    range_=st.integers(1, 40),
    slide=st.integers(1, 40),
    origin=st.integers(-20, 20),
)
def test_the_tag_holds_exactly_the_windows_whose_extent_holds_the_row(
    values, range_, slide, origin
):
    window = Sliding("ts", range_, slide, origin)
    rows = [{"ts": value} for value in values]
    tagged = [(row, window.wids(row, rows)) for row in rows]
    assert tags(window, values) == [(ids[0], ids[-1] + 1) for _, ids in tagged if ids]


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int16, pl.Int32])
def test_a_narrow_attribute_does_not_overflow(dtype):
    assert tags(Sliding("ts", 1000, 100), [-128, 127], dtype) == [(-2, 8), (1, 11)]


def test_other_columns_stay_as_they_are():
    rows = pl.DataFrame({"ts": [1, 2], "name": ["a", None]})
    [block], _ = put(tumbling("ts", 1), rows)
    assert block.rows.select("ts", "name").equals(rows)


def test_rows_without_a_value_are_counted_and_go_nowhere():
    [block], bucket = put(tumbling("ts", 10), pl.DataFrame({"ts": [None, 5, None]}))
    assert block.rows["ts"].to_list() == [5]
    assert bucket.state.unplaced == 2


def test_a_block_in_which_no_row_has_a_place_gives_nothing():
    items, _ = put(Sliding("ts", 1, 10), pl.DataFrame({"ts": [0, 1, 2]}))
    assert items == []


def test_a_bound_becomes_one_on_window_ids():
    window = Sliding("ts", 10 * MINUTE, MINUTE)
    items, _ = put(window, Punctuation("ts", 11 * MINUTE))
    assert items == [Punctuation(WID, 11)]


def test_a_bound_that_closes_no_further_window_is_not_repeated():
    window = Sliding("ts", 600, 60)
    bounds = [59, 60, 60, 119, 120]
    items, _ = put(window, *(Punctuation("ts", bound) for bound in bounds))
    assert items == [Punctuation(WID, 0), Punctuation(WID, 1), Punctuation(WID, 2)]


def test_the_last_bound_stays_the_last():
    items, _ = put(Sliding("ts", 600, 60), Punctuation("ts", END), Punctuation("ts", END))
    assert items == [Punctuation(WID, END)]


def test_bounds_that_say_nothing_about_windows_end_here():
    items, _ = put(
        Sliding("ts", 600, 60), Punctuation("row_num", 100), Punctuation("ts", BEGINNING)
    )
    assert items == []
