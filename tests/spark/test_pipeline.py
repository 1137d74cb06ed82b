"""Spark's settings for pipelines, and how many tasks read a stream."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from penstock.model.expressions import Literal
from penstock.model.types import Type
from penstock.optimizer.specs import SelectSpec
from penstock.spark.base_pipeline import WRITTEN_PROGRAMS, settings_for
from penstock.spark.exchange.preaggregate import Preaggregate
from penstock.spark.exchange.preaggregation import Preaggregation
from penstock.spark.pipeline import tasks_of
from tests.spark.sources.declaring import declared


def test_spark_writes_programs_only_where_rows_pass_through_it(tmp_path: Path) -> None:
    ours = declared(f"parquet '{tmp_path}'")
    assert settings_for([ours, ours])[WRITTEN_PROGRAMS] == "false"
    assert WRITTEN_PROGRAMS not in settings_for([ours, declared("rate")])


def test_all_cores_read_a_stream_for_many_queries_and_else_its_share() -> None:
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=6))
    always = SelectSpec(Literal(True, Type.BOOLEAN))
    one = Preaggregate(0, always, (), ())
    assert [tasks_of(spark, streams, Preaggregation()) for streams in (1, 2, 4)] == [6, 3, 2]
    assert tasks_of(spark, 4, Preaggregation((one,) * 7)) == 2
    assert tasks_of(spark, 4, Preaggregation((one,) * 8)) == 6
