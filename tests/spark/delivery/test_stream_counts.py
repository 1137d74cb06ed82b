"""Rows set aside are counted once per batch, however often Spark runs it."""

from __future__ import annotations

import polars as pl

from penstock import LocalEngine
from penstock.model.timestamps import SECOND
from penstock.optimizer.optimize import optimize
from penstock.spark.delivery.stream_counts import KEPT, StreamCounts
from penstock.spark.group_host import Arrivals, GroupHost


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


def test_a_group_reports_how_late_rows_were_by_batch() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (v INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 2 SECONDS")
    plain = engine.sql("SELECT v FROM s").plan
    windowed = engine.sql("SELECT count(*) AS n FROM s [RANGE 1 DAY]").plan
    for plans, late, passed in (({"q": plain}, 0, 1), ({"q": plain, "w": windowed}, 1, 0)):
        host = GroupHost(optimize(plans))
        results = 0
        for seconds in ([10, 3], [4, 9]):  # within a batch nothing is late
            rows = pl.DataFrame({"v": seconds, "ts": [second * SECOND for second in seconds]})
            blocks = [rows.cast({"v": pl.Int32})]
            answers = host.process([Arrivals(blocks, max(seconds) * SECOND, len(seconds))])
            results += answers.results["q"].height
        assert answers.lateness == {"s": 6 * SECOND}
        assert answers.passed.get("s", 0) == passed
        assert ("s" in answers.late) is bool(late)
        assert results == 4  # a query without windows has them all


def test_reasons_are_counted_once_however_often_a_batch_is_repeated() -> None:
    counts = StreamCounts()
    rows = pl.DataFrame({"v": ["x", None], "reason": ["v: 'x' is no INT", "no row: {oops"]})
    for _ in range(2):
        counts.add("malformed", 7, rows)
        counts.rows_by_batch[7] = 5
        counts.count("passed", 7, 1)
        counts.note_lateness(3)
    assert counts.reasons == {"v is no INT": 1, "no row": 1}
    assert [sample["row_text"] for sample in counts.samples] == ['{"v": "x"}', "{oops"]
    assert (counts.rows, counts.late, counts.passed, counts.lateness) == (3, 1, 1, 3)


def test_counts_take_no_more_room_the_longer_a_query_runs() -> None:
    counts = StreamCounts()
    rows = pl.DataFrame({"v": ["x"], "reason": ["v: 'x' is no INT"]})
    for batch in range(3 * KEPT):
        for _ in range(1 + batch % 2):  # some are repeated
            counts.rows_by_batch[batch] = 3
            counts.add("malformed", batch, rows)
            counts.note_lateness(batch)
    assert (counts.rows, counts.malformed) == (6 * KEPT, 3 * KEPT)
    assert counts.reasons == {"v is no INT": 3 * KEPT} and len(counts.samples) == 3
    assert counts.lateness == 3 * KEPT - 1
    assert counts.of_batch(3 * KEPT - 1)["read"] == 3
    assert len(counts.rows_by_batch._latest) == KEPT
    assert len(counts._rejected_by_batch) == len(counts._kept) == KEPT
