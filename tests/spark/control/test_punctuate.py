"""Punctuation from the program and in the data, on all rows or some: on Spark, and without it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.errors import BadPunctuation, NotExecutable
from penstock.model.punctuation import to_json, where_of
from penstock.optimizer.optimize import optimize
from penstock.spark.control.control_stream import ABOUT
from penstock.spark.engine import Engine
from penstock.spark.in_memory.micro_batches import (
    Exchange,
    FakePipeline,
    MicroBatch,
    Worker,
)
from penstock.spark.placement.pipeline_groups import assign_pipelines
from tests.engine.random_streams import Declared
from tests.engine.running import started

BEGIN = datetime(2026, 1, 1)


def at(second: int) -> datetime:
    return BEGIN + timedelta(seconds=second)


def about(bound: int, **where: Any) -> MicroBatch:
    """A batch in which the program punctuates some rows of `a`."""
    message: Mapping[str, Any] = {ABOUT: [["a", bound, to_json(where_of(where))]]}
    return MicroBatch(bounds=message)


def test_a_bound_on_a_key_answers_it_in_every_group_and_after_a_restart() -> None:
    engine = started([Declared("a", None, "BIGINT")])
    text = "SELECT k, count(*) AS n FROM a [RANGE 10, SLIDE 10, WA ts] GROUP BY k"
    [share] = assign_pipelines({"q": engine.sql(text).plan})
    pipeline = FakePipeline(Exchange(optimize(share.queries), share.keys, (2, 0)))

    def answers(batch: MicroBatch) -> list[tuple[str, int]]:
        pipeline.process(batch, lambda group: Worker(None))  # each on a worker that knows nothing
        return sorted((r["k"], r["n"]) for r in pipeline.rows("result", "q", slice(-1, None)))

    rows = [{"k": k, "v": 0, "d": 0.0, "ts": ts} for k in "xyz" for ts in (1, 2, 12)]
    assert answers(MicroBatch({"a": [[rows]]})) == []
    assert answers(about(10, k="x")) == [("x", 2)]
    assert answers(about(5, k="x")) == []  # says nothing new
    assert answers(about(20, k="y")) == [("y", 1), ("y", 2)]
    assert answers(MicroBatch({"a": [[[rows[0]]]]})) == []
    assert len(pipeline.rows("late", "a")) == 1
    assert answers(MicroBatch(bounds={"a": 20})) == [("x", 1), ("z", 1), ("z", 2)]


def test_a_punctuated_stream_is_advanced_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    rows = [
        (date(2026, 1, 1), b"\x00\xff", False, at(1)),
        (date(2026, 1, 2), b"", False, at(2)),
        (date(2026, 1, 3), b"z", False, at(3)),
        (date(2026, 1, 1), b"\x00\xff", True, at(10)),  # punctuation
    ]
    schema: dict[str, Any] = {
        "d": pl.Date,
        "b": pl.Binary,
        "over": pl.Boolean,
        "ts": pl.Datetime("us", "UTC"),
    }
    (tmp_path / "in").mkdir()
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(tmp_path / "in" / "1.parquet")
    engine = Engine(spark)
    engine.sql(
        f"CREATE STREAM s (d DATE, b BINARY, over BOOLEAN, ts TIMESTAMP) "
        f"FROM parquet '{tmp_path / 'in'}' TIMESTAMP BY ts PUNCTUATED BY over;"
        "CREATE QUERY q AS SELECT d, b, count(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY d, b"
    )
    with pytest.raises(NotExecutable, match="would have no effect"):
        engine.punctuate("s", at(10))
    engine.start()

    def days() -> list[int]:
        engine.process_available()
        return sorted(day.day for day in engine.query("q").results()["d"])

    assert days() == [1]
    engine.punctuate("s", at(10), {"d": date(2026, 1, 2), "b": b""})
    assert days() == [1, 2]
    for bound, where, why in (
        (at(5), {"d": date(2026, 1, 2), "b": b""}, "cannot fall"),
        (at(20), {"day": 1}, "by `day`"),
        (at(20), {"d": "soon"}, "that is not a valid DATE"),
    ):
        with pytest.raises(BadPunctuation, match=why):
            engine.punctuate("s", bound, where)
    engine.punctuate("s", at(10))
    assert days() == [1, 2, 3]
    with pytest.raises(BadPunctuation, match="cannot fall"):
        engine.punctuate("s", at(9))
    engine.stop()
