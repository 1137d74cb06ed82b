"""A nested log on Spark: through filter, window, join and explode, to parquet and back."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

from penstock.spark.engine import Engine
from tests.engine import nested_log


def test_a_nested_log_through_filter_window_join_and_explode_on_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    engine = Engine(spark)
    engine.sql(nested_log.declarations(tmp_path))
    for name, select in nested_log.QUERIES.items():
        engine.sql(f"CREATE QUERY {name} INTO parquet '{tmp_path}/out_{name}' AS {select}")
    engine.start()
    engine.finish()
    for name in nested_log.QUERIES:
        plan = engine.query(name).plan
        files = sorted((tmp_path / f"out_{name}").glob("*.parquet"))
        nested_log.check(plan, pl.concat([pl.read_parquet(file) for file in files]))
    # Spark sees the same types, but for times, which are in no zone in files.
    read = spark.read.parquet(f"{tmp_path}/out_rows")
    types = dict(read.dtypes)
    assert types["prices"] == "map<string,decimal(12,2)>"
    assert types["user"] == "struct<name:string,address:struct<city:string,zip:int>>"
    assert types["visits"] == "array<struct<page:string,at:timestamp_ntz>>"
    assert types["amount"] == "decimal(20,4)"
