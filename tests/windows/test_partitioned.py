"""Partitioned windows: each partition counts its own rows."""

from __future__ import annotations

import pytest

from penstock.errors import CannotWindow
from penstock.windows import Partitioned, Row, Sliding

ROWS = [
    {"n": n, "src": src, "len": len_}
    for n, (src, len_) in enumerate(
        [("a", 9), ("a", 1), ("b", 5), ("a", 2), ("a", 3), ("b", 4), ("a", 1)], start=1
    )
]


def maxima(window, wid):
    """max(len) per source in one extent."""
    found: dict[str, int] = {}
    for row in window.extent(wid, ROWS):
        found[row["src"]] = max(row["len"], found.get(row["src"], row["len"]))
    return found


def test_the_last_rows_of_each_source_are_not_the_last_rows_grouped_by_source():
    each = Partitioned("n", range=2, slide=2, partition=("src",))
    overall = Sliding("n", range=2, slide=2, unit="rows")
    assert {wid: maxima(each, wid) for wid in each.windows(ROWS)} == {
        (0, ("a",)): {"a": 9},
        (1, ("a",)): {"a": 3},
        (2, ("a",)): {"a": 1},
        (0, ("b",)): {"b": 5},
    }
    assert {wid: maxima(overall, wid) for wid in overall.windows(ROWS)} == {
        0: {"a": 9},
        1: {"b": 5, "a": 2},
        2: {"a": 3, "b": 4},
        3: {"a": 1},
    }


def test_partitions_have_different_numbers_of_extents():
    window = Partitioned("n", range=3, slide=1, partition=("src",))
    ids = [partition for _, partition in window.windows(ROWS)]
    assert (ids.count(("a",)), ids.count(("b",))) == (5, 2)


def test_rank_follows_the_attribute_and_not_the_arrival():
    late = [{"n": 3, "src": "a"}, {"n": 1, "src": "a"}, {"n": 2, "src": "a"}]
    window = Partitioned("n", range=1, slide=1, partition=("src",))
    assert [window.extent((rank, ("a",)), late)[0]["n"] for rank in range(3)] == [1, 2, 3]


def test_equal_values_are_ranked_in_order_of_arrival():
    twins = [{"n": 1, "src": "a", "len": 7}, {"n": 1, "src": "a", "len": 8}]
    window = Partitioned("n", range=1, slide=1, partition=("src",))
    assert [window.extent((rank, ("a",)), twins) for rank in range(2)] == [twins[:1], twins[1:]]


def test_bounds_are_the_ranks_of_an_extent():
    window = Partitioned("n", range=3, slide=2, partition=("src",))
    assert window.bounds((0, ("a",))) == (-1, 2)
    assert window.bounds((1, ("a",))) == (1, 4)
    assert window.extent((1, ("a",)), ROWS) == [row for row in ROWS if row["src"] == "a"][1:4]


def test_null_is_a_partition():
    rows: list[Row] = [{"n": 1, "src": None}, {"n": 2, "src": "a"}]
    assert Partitioned("n", 1, 1, ("src",)).windows(rows) == [(0, (None,)), (0, ("a",))]


def test_several_attributes_partition_together():
    rows = [{"n": 1, "src": "a", "dst": "x"}, {"n": 2, "src": "a", "dst": "y"}]
    window = Partitioned("n", 1, 1, ("src", "dst"))
    assert window.windows(rows) == [(0, ("a", "x")), (0, ("a", "y"))]


def test_partitioning_by_nothing_is_refused():
    with pytest.raises(CannotWindow, match="PA names no attribute"):
        Partitioned("n", 10, 1, ())


@pytest.mark.parametrize(("range_", "slide"), [(0, 1), (1, 0), (-1, 1), (1, -1)])
def test_a_length_that_is_not_positive_is_refused(range_, slide):
    with pytest.raises(CannotWindow, match="must be positive"):
        Partitioned("n", range_, slide, ("src",))


def test_it_prints_as_its_clause():
    assert (
        str(Partitioned("row_num", 1000, 10, ("src",)))
        == "[RANGE 1000 rows, SLIDE 10 rows, WA row_num, PA src]"
    )
