"""Rows of a stream are counted once per batch, however often Spark runs it."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from penstock import LocalEngine
from penstock.kernel.rejected import Reason
from penstock.model.timestamps import SECOND
from penstock.optimizer.optimize import optimize
from penstock.runtime.arrivals import Arrivals
from penstock.runtime.counts import Tally
from penstock.spark.delivery.batch_counts import KEPT, tallies_by_batch
from penstock.spark.delivery.stream_counts import StreamTallies
from penstock.spark.delivery.totals import Totals, stream_counts
from penstock.spark.group_host import GroupHost


def some(count: int) -> pl.DataFrame:
    return pl.DataFrame({"x": range(count)})


def malformed(count: int) -> pl.DataFrame:
    return pl.DataFrame({"v": ["x"] * count, "reason": ["v: 'x' is not a valid INT"] * count})


def test_a_batch_that_is_repeated_counts_once() -> None:
    tallies = tallies_by_batch()
    for _ in range(2):
        tallies[7] = tally = Tally(read=5, passed=1, lateness=3)
        tally.reject(Reason.MALFORMED, malformed(2))
        tally.reject(Reason.LATE, some(1))
    total = tallies.total
    assert (total.read, total.late, total.passed, total.malformed) == (5, 1, 1, 2)
    assert total.reasons == {"v is not a valid INT": 2}
    assert [sample["row_text"] for sample in total.samples] == ['{"v": "x"}'] * 2


def test_pipelines_over_one_stream_count_their_late_rows_apart() -> None:
    stream = StreamTallies("s")
    first, second = (stream.of(name, Totals(None)) for name in ("a", "b, c"))
    for tallies in (first, second):
        tallies[0] = Tally(read=50, late=8)
        tallies[1] = Tally(read=50, malformed=3)
    second[1].late = 4  # late in one, on time in the other
    assert stream.of("a", Totals(None)) is first
    counts = stream.counts()
    assert counts.late_by_pipeline == {"a": 8, "b, c": 12}
    assert (counts.rows, counts.late, counts.malformed) == (85, 12, 3)


def test_a_stream_shows_this_run_and_all_of_them(tmp_path: Path) -> None:
    for run in range(3):
        stream, totals = StreamTallies("s"), Totals(tmp_path)
        tallies = stream.of("q", totals)
        for batch in (2 * run, 2 * run + 1):
            tallies[batch] = tally = Tally(read=10, late=2, malformed=1)
            totals.note(batch, {stream_counts("s"): tally.for_totals()})
    counts = stream.counts()
    assert (counts.rows, counts.late, counts.malformed) == (14, 4, 2)
    assert (counts.total.rows, counts.total.late, counts.total.malformed) == (42, 12, 6)


def test_counts_take_no_more_room_the_longer_a_query_runs() -> None:
    tallies = tallies_by_batch()
    for batch in range(3 * KEPT):
        for _ in range(1 + batch % 2):  # some are repeated
            tallies[batch] = tally = Tally(read=3, lateness=batch)
            tally.reject(Reason.MALFORMED, malformed(1))
    total = tallies.total
    assert (total.read, total.malformed, total.lateness) == (9 * KEPT, 3 * KEPT, 3 * KEPT - 1)
    assert total.reasons == {"v is not a valid INT": 3 * KEPT} and len(total.samples) == 3
    assert tallies[3 * KEPT - 1].read == 3
    assert len(tallies._latest) == KEPT
    assert tallies.total == total  # asking changes nothing


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
        tally = answers.tallies["s"]
        assert (tally.late, tally.passed, tally.lateness) == (late, passed, 6 * SECOND)
        assert (("s", Reason.LATE) in answers.rejected) is bool(late)
        assert results == 4  # a query without windows has them all
