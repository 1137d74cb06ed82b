"""Functions of users on a real Spark session: sent to its tasks, kept and mended."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.errors import HostError
from penstock.spark.engine import Engine
from tests.engine.test_sql_aggregates import AVG
from tests.engine.user_aggregates import SAME_AS, declare
from tests.spark.packets import write_file

PAIRS = ", ".join(f"{name}(v) AS {name}, {of} AS b_{name}" for name, of in SAME_AS.items())


def write(folder: Path, number: int) -> None:
    folder.mkdir(exist_ok=True)
    n = pl.int_range(400, eager=True)
    rows = pl.DataFrame(
        {
            "k": (n * 7 % 11).cast(pl.Int32),
            "v": pl.select(pl.when(n % 13 > 0).then(n * 31 % 97)).to_series().cast(pl.Int32),
            "ts": n // 4 + number * 100,
        }
    )
    write_file(folder / f"{number}.parquet", rows, number)


def engine_of(spark: SparkSession, folder: Path, limit: int = 1_000) -> Engine:
    engine = Engine(spark)
    declare(engine)
    engine.sql(AVG)

    def checked(x: int) -> int:
        if x > limit:
            raise ValueError(f"{x} is too much")
        return x % 10

    engine.function("last_digit", checked, arguments="x BIGINT", returns="BIGINT")
    engine.sql(
        f"CREATE STREAM s (k INT, v INT, ts BIGINT) FROM parquet '{folder / 'in'}' TIMESTAMP BY ts;"
        f"CREATE QUERY q INTO parquet '{folder / 'out'}' AS SELECT k, {PAIRS}, "
        "s_avg(v) AS s_avg, avg(v) AS b_s_avg, max(last_digit(v)) AS digit "
        "FROM s [RANGE 60, SLIDE 20] WHERE last_digit(k) < 9 GROUP BY k;"
        f"CREATE QUERY r INTO parquet '{folder / 'rows'}' AS "
        "SELECT last_digit(v) AS d, v, ts FROM s WHERE last_digit(v) > 4"
    )
    return engine


def test_they_give_what_is_built_in_and_can_be_mended(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "in", 0)
    engine = engine_of(spark, tmp_path)
    engine.start()
    engine.process_available()
    engine.stop()
    write(tmp_path / "in", 1)
    failing = engine_of(spark, tmp_path, limit=90)
    with pytest.raises(HostError, match=r"function `last_digit` failed on the row x = 9\d"):
        failing.start()
        failing.process_available()
    failing.stop()
    mended = engine_of(spark, tmp_path)
    mended.start()
    mended.finish()
    mended.stop()
    answers = pl.read_parquet(tmp_path / "out" / "*.parquet")
    assert answers.height == answers.select("k", "window_end").n_unique()
    assert answers["window_end"].max() == 240
    rows = pl.read_parquet(tmp_path / "rows" / "*.parquet")
    assert rows.height > 200
    assert (rows["d"] == rows["v"] % 10).all()
    for name in (*SAME_AS, "s_avg"):
        assert answers[name].to_list() == answers[f"b_{name}"].to_list(), name
