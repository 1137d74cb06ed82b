"""Rows are found by their partitions in segments of which an index is made once."""

from __future__ import annotations

import math

import polars as pl
import pytest

from penstock.kernel.aggregation import partition_index
from penstock.kernel.aggregation.partition_index import PartitionIndex
from penstock.kernel.segments import Segment

KEYS = [None, 0.0, -0.0, math.nan, -math.nan, 1.0, 2.0]


def segment_of(*keys: float | None) -> Segment:
    rows = {"k": keys, "s": ["x"] * len(keys), "n": range(len(keys))}
    return Segment(pl.DataFrame(rows, schema={"k": pl.Float64, "s": pl.String, "n": pl.Int64}))


def found(index: PartitionIndex, segment: Segment, *sought: float | None) -> list[int]:
    [rows] = index.of_same([segment], segment_of(*sought).whole, ["n"])
    return sorted(rows.get_column("n").to_list())


@pytest.fixture(autouse=True)
def always_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_index, "FEW", 0)


def test_equal_keys_are_found_whatever_they_are() -> None:
    index, segment = PartitionIndex(["k", "s"]), segment_of(*KEYS, None, 1.0)
    assert found(index, segment, None) == [0, 7]
    assert found(index, segment, -0.0) == found(index, segment, 0.0) == [1, 2]
    assert found(index, segment, math.nan) == [3, 4]
    assert found(index, segment, 1.0, 2.0, 1.0) == [5, 6, 8]
    assert found(index, segment, 3.0) == []


def test_rows_that_were_purged_are_not_found() -> None:
    index, segment = PartitionIndex(["k"]), segment_of(1.0, 2.0, 1.0)
    assert found(index, segment, 1.0) == [0, 2]
    assert found(index, segment.without_front(1), 1.0) == [2]


def test_without_partitions_all_rows_are() -> None:
    assert found(PartitionIndex([]), segment_of(1.0, 2.0).without_front(1), 5.0) == [1]


def test_of_small_segments_all_rows_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_index, "FEW", 4)
    assert found(PartitionIndex(["k"]), segment_of(1.0, 2.0, 3.0), 1.0) == [0, 1, 2]


def test_the_index_of_a_segment_that_is_gone_is_forgotten() -> None:
    index, first, second = PartitionIndex(["k"]), segment_of(1.0), segment_of(2.0)
    list(index.of_same([first, second], first.whole, ["n"]))
    list(index.of_same([second], first.whole, ["n"]))
    assert list(index._sorted) == [second.id]
