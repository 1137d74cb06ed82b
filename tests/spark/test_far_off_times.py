"""Rows that open too many windows on Spark: an error, behind which the checkpoint goes on."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.spark.engine import Engine
from tests.spark.packets import write_file

TEXT = """
SET max_jump = {jump};
CREATE STREAM s (v BIGINT, ts TIMESTAMP) FROM parquet '{folder}/in'
OPTIONS (maxFilesPerTrigger '1') TIMESTAMP BY ts SLACK 3000 DAYS;
CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 5000000 SECONDS, SLIDE 10 SECONDS];
"""


def test_a_checkpoint_goes_on_behind_rows_that_opened_too_many_windows(
    spark: SparkSession, tmp_path: Path
) -> None:
    now = datetime.now(timezone.utc)
    (tmp_path / "in").mkdir()
    for number, days in enumerate(([0, 1], range(100, 1700, 60), [2])):
        times = [now + timedelta(days=day) for day in days]
        frame = pl.DataFrame({"v": [1] * len(times), "ts": times})
        frame = frame.with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))
        write_file(tmp_path / "in" / f"{number}.parquet", frame, number)

    def started(jump: str) -> Engine:
        engine = Engine(spark, checkpoint=tmp_path / "checkpoint")
        engine.sql(TEXT.format(jump=jump, folder=tmp_path))
        engine.start()
        return engine

    first = started("unlimited")
    with pytest.raises(PenstockError, match=r"windows .* and a query can have 10,000,000"):
        first.process_available()
    first.stop()
    # They can be told to be wrong: the batch is repeated without them.
    second = started("90 DAYS")
    second.finish()
    assert second.query("q").results()["n"].max() == 3
    assert second.counts("s").malformed == 27
