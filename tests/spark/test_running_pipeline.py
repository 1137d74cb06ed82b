"""RunningPipeline: what a pipeline does with the batches of its queries; without Spark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from penstock.errors import IncompleteResults
from penstock.model.timestamps import to_ticks
from penstock.runtime.counts import Tally
from penstock.spark.control.control_stream import KEPT, ControlStream
from penstock.spark.delivery.delivery import RESULT, BatchReport
from penstock.spark.engine import Engine
from penstock.spark.placement.pipeline_groups import assign_pipelines
from penstock.spark.running_pipeline import RunningPipeline

LONG_AGO = "2020-01-01T00:00:00.000Z"
LATER = "2100-01-01T00:00:00.000Z"


class FakeSparkQuery:
    isActive = True
    lastProgress: dict[str, Any] | None = None

    def exception(self) -> None:
        return None


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Engine]:
    """An engine whose pipelines are not Spark's."""
    pipeline = SimpleNamespace(
        control=ControlStream(tmp_path / "control"),
        start=lambda interval: FakeSparkQuery(),
        epochs=None,
        catch_up=None,
        unreadable=None,
    )
    context = SimpleNamespace(master="local[2]", pythonExec=sys.executable)
    monkeypatch.setattr(Engine, "session", SimpleNamespace(sparkContext=context))
    monkeypatch.setattr(Engine, "_frame_of", lambda self, stream: SimpleNamespace(columns=[]))
    monkeypatch.setattr(RunningPipeline, "_pipeline", lambda self, program, frames: pipeline)
    engine = Engine()
    engine.sql(
        "SET ets = none;"
        "CREATE STREAM s (v INT, ts TIMESTAMP) FROM rate TIMESTAMP BY ts SLACK 1 SECOND;"
        "CREATE QUERY q AS SELECT v FROM s"
    )
    yield engine


def started(engine: Engine) -> RunningPipeline:
    [share] = assign_pipelines({entry.name: entry.plan for entry in engine.catalog.queries})
    running = RunningPipeline(engine, share)
    running.start("0 seconds")
    return running


def hand_over(running: RunningPipeline, batch: int, values: list[int]) -> None:
    rows = pl.DataFrame({"v": values}, schema={"v": pl.Int32})
    running._deliver(batch, [(0, "q", RESULT, rows)])
    tally = Tally(len(values))
    running._report(BatchReport(batch, {"s": len(values)}, {}, {}, (), tallies={"s": tally}))


def test_a_query_may_be_dropped_while_a_batch_is_delivered_to_it(engine: Engine) -> None:
    running = started(engine)
    hand_over(running, 0, [1])
    engine.sql("DROP QUERY q")  # and the pipeline has not heard of it yet
    hand_over(running, 1, [2])
    assert running.delivery.totals.of("query q")["rows"] == 2
    running._attempts.settle()
    running.let_go()


def test_a_query_that_was_stopped_within_a_batch_is_called_stopped(engine: Engine) -> None:
    running = started(engine)
    query = engine.query("q")
    query.pipeline = running
    running._last = ({"message": "Processing new data"}, None, None)
    running._attempts.settle()
    running.let_go()
    spark_query: Any = running.query
    spark_query.isActive = False
    assert query._doing() == ("stopped", "Stopped")


def test_a_query_that_starts_from_the_beginning_has_nothing_of_an_earlier_run(
    engine: Engine,
) -> None:
    for batches in ([[1], [2], [3]], [[1, 2, 3]]):  # the same rows, in other batches
        running = started(engine)
        for batch, values in enumerate(batches):
            hand_over(running, batch, values)
        assert engine.query("q").results().get_column("v").to_list() == [1, 2, 3]
        assert (engine.query("q").rows, engine.counts("s").rows) == (3, 3)
        running._attempts.settle()
        running.let_go()


def test_messages_before_batches_that_are_over_are_forgotten_though_nobody_asks_streams(
    engine: Engine, tmp_path: Path
) -> None:
    running = started(engine)
    spark_query: Any = running.query
    for began, left in ((LONG_AGO, 3 * KEPT), (LATER, KEPT)):
        spark_query.lastProgress = {"batchId": 0, "timestamp": began, "durationMs": {"addBatch": 1}}
        while len(list((tmp_path / "control").iterdir())) < 3 * KEPT - 1:
            running.pipeline.control.send({"s": 1})
        running.punctuate("s", to_ticks(datetime.fromisoformat(began)), ())
        assert len(list((tmp_path / "control").iterdir())) == left
    running._attempts.settle()
    running.let_go()


def test_results_are_handed_out_once_though_spark_repeats_the_batch(engine: Engine) -> None:
    query = engine.query("q")
    assert (query.status.state, query.isActive, query.awaitTermination()) == (
        "not started",
        False,
        True,
    )
    running = started(engine)
    hand_over(running, 0, [1])
    hand_over(running, 1, [2])
    assert query.fetch()["v"].to_list() == [1, 2]
    hand_over(running, 1, [2])
    hand_over(running, 2, [3])
    assert query.fetch()["v"].to_list() == [3]
    assert (query.rows, engine.counts("s").rows) == (3, 3)
    running._attempts.settle()
    running.let_go()


def test_the_latest_results_are_kept_and_the_status_counts_the_others(engine: Engine) -> None:
    query = engine.query("q")
    query._waiting.limit = 3
    running = started(engine)
    for batch, values in enumerate([[1, 2], [3, 4], [5]]):
        hand_over(running, batch, values)
    with pytest.raises(IncompleteResults, match="2 results of query `q` were dropped"):
        query.results()
    assert query.results(partial=True)["v"].to_list() == [3, 4, 5]
    assert (query.rows, query._waiting.rows, query._waiting.dropped) == (5, 3, 2)
    running._attempts.settle()
    running.let_go()
