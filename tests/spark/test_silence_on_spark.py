"""A stream that never speaks holds nobody back: on a real session."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from penstock.spark.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000

QUERIES = {
    "counts": "SELECT k, count(*) [RANGE 2 SECONDS, SLIDE 1 SECOND, WA ts] AS n "
    "FROM busy UNION silent GROUP BY k",
    "alone": "SELECT b.k, b.ts AS at FROM busy b LEFT ANTI JOIN silent s "
    "ON b.k = s.k WITHIN 1 SECOND",
}


def write(folder: Path, number: int, *rows: tuple[int, int]) -> None:
    frame = pl.DataFrame(rows, {"k": pl.Int64, "ts": pl.Int64}, orient="row")
    hidden = folder / f".{number}"
    frame.with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC"))).write_parquet(hidden)
    hidden.rename(folder / f"{number}.parquet")


def now() -> int:
    return time.time_ns() // 1000


def wait_until(holds: Callable[[], bool], engine: Engine) -> None:
    while not holds():
        engine.check()
        time.sleep(0.1)


def test_results_come_though_one_stream_never_speaks(spark: SparkSession, tmp_path: Path) -> None:
    engine = Engine(spark, checkpoint=tmp_path / "checkpoint")
    for name in ("busy", "silent"):
        (tmp_path / name).mkdir()
        engine.sql(
            f"CREATE STREAM {name} (k BIGINT, ts TIMESTAMP) FROM parquet '{tmp_path / name}' "
            "TIMESTAMP BY ts SLACK 1 SECOND SKEW 1 SECOND"
        )
    for name, text in QUERIES.items():
        engine.sql(f"CREATE QUERY {name} AS {text}")
    first = now()
    write(tmp_path / "busy", 1, (1, first))
    engine.start()
    counts = engine.query("counts")
    # Nothing more comes: the clock alone closes the windows, those of a restart too.
    wait_until(lambda: counts.rows > 0, engine)
    assert set(counts.results()["n"]) == {1}
    wait_until(lambda: engine.query("alone").rows == 1, engine)
    # Once the clock has closed all windows nothing waits, and that is said.
    wait_until(lambda: counts.why().summary == "nothing waits", engine)
    progress = counts.lastProgress
    assert progress is not None
    facts = progress["penstock"]["blockers"]["inputs"]
    assert [fact["silent"] == "never" for fact in facts] == [False, True]
    # What speaks again within its skew is not late; the files may take a while to be written.
    second = now() + 3 * SECOND
    write(tmp_path / "silent", 1, (2, second))
    write(tmp_path / "busy", 2, (2, second))
    wait_until(lambda: bool((counts.results()["k"] == 2).any()), engine)
    assert engine.counts("silent").late == 0
    assert set(counts.results().filter(pl.col("k") == 2)["n"]) == {2}
    engine.stop()
