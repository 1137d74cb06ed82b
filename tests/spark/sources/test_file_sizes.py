"""Which streams are small files that one batch reads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.spark.engine import Engine
from penstock.spark.sources import file_sizes
from penstock.spark.sources.file_sizes import are_small, is_read_at_once, largest_batch
from tests.spark.sources.declaring import declared


def test_small_is_what_all_files_together_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_sizes, "SMALL", 10)
    (tmp_path / "1.csv").write_text("123456")
    assert are_small([declared(f"csv '{tmp_path}'")])
    assert are_small([declared(f"csv 'file://{tmp_path}'")])
    assert not are_small([declared(f"csv '{tmp_path}'"), declared(f"csv '{tmp_path}/1.csv'")])
    (tmp_path / "2.csv").write_text("123456")
    assert not are_small([declared(f"csv '{tmp_path}'")])


@pytest.mark.parametrize(
    "source", ["rate", "csv 's3://bucket/in'", "csv 'no/such/place'", "workload 'bids'"]
)
def test_what_is_not_here_is_not_small(source: str) -> None:
    assert not are_small([declared(source)])


def test_a_limit_per_batch_may_leave_files_for_the_next(tmp_path: Path) -> None:
    assert is_read_at_once(declared(f"csv '{tmp_path}'"))
    (tmp_path / "1.csv").write_text("123456")
    assert is_read_at_once(declared(f"csv '{tmp_path}'"))
    assert is_read_at_once(declared(f"csv '{tmp_path}/*.csv'"))
    assert not is_read_at_once(declared(f"csv '{tmp_path}' OPTIONS (MaxFilesPerTrigger '1')"))
    assert not is_read_at_once(declared("rate"))
    assert not is_read_at_once(declared("csv 's3://bucket/in'"))


def test_a_batch_takes_as_much_as_memory_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert largest_batch() >= 64 << 20
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text("123456")
    for limit, at_once in ((18, True), (17, False)):
        monkeypatch.setattr(file_sizes, "largest_batch", lambda limit=limit: limit)
        assert is_read_at_once(declared(f"csv '{tmp_path}'")) is at_once


@pytest.mark.parametrize("form", ["csv", pytest.param("json", marks=pytest.mark.slow)])
def test_a_backlog_is_read_in_batches_that_fit_and_nothing_of_it_is_lost(
    form: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(7):
        lines = {
            "csv": f"v,ts\n{number},{number}\n",
            "json": f'{{"v": {number}, "ts": {number}}}\n',
        }
        file = tmp_path / f"{number}.{form}"
        file.write_text(lines[form])
        os.utime(file, (1_700_000_000 + number,) * 2)  # Spark takes the oldest first
    size = (tmp_path / f"0.{form}").stat().st_size
    monkeypatch.setattr(file_sizes, "largest_batch", lambda: 3 * size)
    with Engine(spark) as engine:
        engine.sql(
            f"CREATE STREAM s (v BIGINT, ts BIGINT) FROM {form} '{tmp_path}' TIMESTAMP BY ts;"
            "CREATE QUERY q AS SELECT sum(v) AS n FROM s [RANGE 100]"
        )
        engine.start(to_end=True)
        engine.process_available()
        batches = [each["numInputRows"] for each in engine.query("q").recentProgress]
        assert sum(rows > 0 for rows in batches) == 3
        engine.finish()
        assert engine.query("q").results().get_column("n").to_list() == [21]
