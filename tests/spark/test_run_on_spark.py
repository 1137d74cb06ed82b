"""`penstock run` on Spark: when it ends, and what it leaves."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.cli.run import run_on_spark
from penstock.local.engine import LocalEngine
from penstock.oracle.evaluate import same_rows
from penstock.spark.explain import explain_pipeline
from tests.spark.packets import QUERIES, script, write_packets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_directory_without_files_is_read_to_its_end(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    text = script(tmp_path / "in", {"all": QUERIES["all"]})
    engine, _ = run_on_spark(text, None, None, None, keep_open=False)
    assert engine.query("all").results().height == 0


def test_endless_inputs_run_until_the_time_is_over(spark: SparkSession) -> None:
    text = (
        "CREATE STREAM ticks (timestamp TIMESTAMP, value BIGINT) FROM rate "
        "OPTIONS (rowsPerSecond '5') TIMESTAMP BY timestamp;"
        "CREATE QUERY n AS SELECT count(*) AS n FROM ticks [RANGE 1 SECOND]"
    )
    begun = time.monotonic()
    engine, _ = run_on_spark(text, None, None, 2.0, keep_open=False)
    assert time.monotonic() - begun >= 2
    assert engine.spark_query("n") is None  # stopped


def test_kept_open_the_last_windows_wait_for_the_next_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_packets(tmp_path / "in", range(2))
    text = script(tmp_path / "in", {"all": QUERIES["all"]}, tmp_path / "out")
    waiting, _ = run_on_spark(text, None, None, None, keep_open=True)
    ended, _ = run_on_spark(text, None, None, None, keep_open=False)
    # Rows from -3 to 8 seconds are in three windows of five; the last ones were still open.
    assert waiting.query("all").rows + ended.query("all").rows == 3
    assert 0 < ended.query("all").rows < 3


def test_small_files_are_read_and_answered_in_one_batch_by_one_pipeline(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_packets(tmp_path / "in", range(2))
    text = script(tmp_path / "in", {name: QUERIES[name] for name in ("all", "sliding")})
    text = text.replace("OPTIONS (maxFilesPerTrigger '1')", "")
    engine, _ = run_on_spark(text, None, None, None, keep_open=False)
    one, other = (engine.query(name) for name in ("all", "sliding"))
    assert one.pipeline is not None and one.pipeline is other.pipeline
    assert (one.pipeline.last_batch or pytest.fail("no batch")).number == 0
    assert "there is little to read" in explain_pipeline(one.pipeline.group, one.pipeline.program)
    here = LocalEngine()
    here.sql(text)
    for _ in here.read_files():
        pass
    here.finish()
    for query in (one, other):
        assert same_rows(query.results().to_dicts(), here.query(query.name).results().to_dicts())
