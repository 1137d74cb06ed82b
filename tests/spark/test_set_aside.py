"""Rows set aside are counted once per batch, however often Spark runs it."""

from __future__ import annotations

import polars as pl

from penstock.spark.set_aside import KEPT, StreamCounts


def some(count: int) -> pl.DataFrame:
    return pl.DataFrame({"x": range(count)})


def test_kinds_are_counted_apart_and_over_batches() -> None:
    counts = StreamCounts()
    counts.add("late", 1, some(2))
    counts.add("late", 4, some(3))
    counts.add("malformed", 4, some(7))
    assert (counts.late, counts.malformed) == (5, 7)


def test_a_batch_that_is_repeated_counts_once() -> None:
    counts = StreamCounts()
    counts.add("late", 1, some(2))
    counts.add("late", 1, some(2))
    assert counts.late == 2
    assert [(kind, rows.height) for kind, rows in counts.latest] == [("late", 2)]


def test_the_latest_are_kept_and_all_are_counted() -> None:
    counts = StreamCounts()
    for batch in range(KEPT + 5):
        counts.add("late", batch, some(batch))
    assert [rows.height for _, rows in counts.latest] == list(range(5, KEPT + 5))
    assert counts.late == sum(range(KEPT + 5))


def test_pipelines_over_one_stream_count_their_late_rows_apart() -> None:
    first = StreamCounts("a")
    second = first.of("b, c")
    for batch in range(2):
        first.rows_by_batch[batch] = 50
        second.rows_by_batch[batch] = 50
    first.add("late", 0, some(8))
    second.add("late", 0, some(8))
    second.add("late", 1, some(4))  # late in one, on time in the other
    for counts in (first, second):
        counts.count("malformed", 1, 3)
    assert first.of("a") is first and first.of("b, c") is second
    assert first.late_by_pipeline == {"a": 8, "b, c": 12}
    assert (first.rows, first.late, first.malformed) == (85, 12, 3)
    assert [rows.height for _, rows in first.latest] == [8, 8, 4]
