"""Segments: appended, merged, cut from the front, dropped; an id means one content for ever."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from penstock.kernel.segments import FEW, MANY, Segment, SegmentTable, where


def rows(*times: int) -> pl.DataFrame:
    return pl.DataFrame({"ts": list(times)}, schema={"ts": pl.Int64})


def table(*segments: tuple[int, ...]) -> SegmentTable:
    made = SegmentTable(on="ts")
    for times in segments:
        made.append(rows(*times))
    return made


def times(found: SegmentTable | list[pl.DataFrame]) -> list[list[int]]:
    return [part.get_column("ts").to_list() for part in found]


def test_rows_below_a_bound_leave_from_the_front_of_each_segment() -> None:
    made = table((1, 3, 5), (4, 6), (7, 8))
    ids = [segment.id for segment in made.segments]
    assert times(made.take_below(6)) == [[1, 3, 5], [4]]
    assert times(made) == [[6], [7, 8]]
    assert [segment.id for segment in made.segments] == ids[1:]  # nothing was written anew


def test_rows_taken_in_order_are_sorted_over_all_segments() -> None:
    made = table((1, 5), (2, 4))
    found = made.take_in_order(5)
    assert found is not None and found.get_column("ts").to_list() == [1, 2, 4]
    assert made.take_in_order(5) is None


def test_the_first_rows_are_dropped_over_segments() -> None:
    made = table((1, 2), (3, 4), (5,))
    made.drop_first(3)
    assert times(made) == [[4], [5]]


def test_rows_that_are_going_leave_wherever_they_stand() -> None:
    made = table((1, 2, 3), (4, 5), (6,))
    untouched = made.segments[1]
    assert times(made.take_where(where(pl.col("ts").is_in([2, 6])))) == [[2], [6]]
    assert times(made) == [[1, 3], [4, 5]]
    assert made.segments[1] is untouched


def test_a_condition_that_is_null_keeps_the_row() -> None:
    made = SegmentTable()
    made.append(pl.DataFrame({"x": [1, None, 3]}))
    made.take_where(where(pl.col("x") < 2))
    assert [part.get_column("x").to_list() for part in made] == [[None, 3]]


@pytest.mark.parametrize("fan_in", [FEW, MANY])
def test_rows_are_copied_a_logarithmic_number_of_times(fan_in: int) -> None:
    made, copied = SegmentTable(), 0

    def merge(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
        nonlocal copied
        copied += sum(part.height for part in parts)
        return pl.concat(parts)

    for time in range(1000):
        made.append(rows(time))
        made.compact(merge, fan_in)
    assert made.rows == 1000
    assert len(made.segments) < 3 * fan_in
    assert copied < 1000 * 10
    assert np.concatenate([part.get_column("ts").to_numpy() for part in made]).tolist() == list(
        range(1000)
    )


def test_rows_that_hold_sets_are_copied_no_more_often_than_others() -> None:
    made, copied = SegmentTable(), 0

    def merge(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
        nonlocal copied
        lists = pl.concat(parts).get_column("set")
        copied += int(lists.list.len().sum())
        return pl.DataFrame({"set": [lists.explode().to_list()]})

    for number in range(1000):
        made.append(pl.DataFrame({"set": [list(range(10 * number, 10 * number + 10))]}))
        made.compact(merge, MANY)
    assert sum(part.get_column("set").list.len().sum() for part in made) == 10_000
    assert copied < 10_000 * 10


def test_only_segments_that_are_alike_are_merged() -> None:
    def alike(found: Sequence[Segment]) -> list[Segment]:
        return [s for s in found if s.rows.item(0, 0) % 2 == found[-1].rows.item(0, 0) % 2]

    made = SegmentTable(on="ts")
    for time in range(8):
        made.append(rows(time))
        made.compact(pl.concat, 4, alike)
    assert sorted(times(made)) == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_a_sorted_table_knows_its_first_row_and_every_table_its_extent() -> None:
    made = SegmentTable(on="ts")
    made.append_sorted(rows(5, 3))
    made.append_sorted(rows(4, 9))
    assert made.lowest() == 3
    assert made.extent() == (3, 9)
    assert SegmentTable(on="ts").lowest() is None
    assert SegmentTable([*made.segments]).extent() is None


def test_what_replaces_other_rows_has_an_id_of_its_own() -> None:
    made = table((1,))
    [before] = made.segments
    made.replace(rows(1))
    assert made.segments[0].id != before.id
