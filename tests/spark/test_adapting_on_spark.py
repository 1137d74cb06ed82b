"""Joins on Spark that get another plan by themselves between two batches, and go on with it."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

from penstock.optimizer.joins.box import shape_of
from penstock.optimizer.joins.named_tree import tree_text
from penstock.spark.engine import Engine
from penstock.spark.state.remembered import remembered_plans
from tests.runtime.test_adapting import OTHER, QUERY, WRITTEN, load, meaning

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, v BIGINT, id BIGINT, ts TIMESTAMP) FROM parquet "
    f"'{{0}}/{name}' OPTIONS (maxFilesPerTrigger '1') TIMESTAMP BY ts;"
    for name in "abc"
)
#: Of time in each file, so in each batch; and how many files there are before a restart and after.
SECONDS, FILES, LATER = 10, 12, 2


def write(folder: Path, files: range, rows: dict[str, pl.DataFrame]) -> None:
    for name, each in rows.items():
        (folder / name).mkdir(exist_ok=True)
        for number in files:
            part = each.filter(pl.col("ts") // 1_000_000 // SECONDS == number)
            times = pl.col("ts").cast(pl.Datetime("us", "UTC"))
            file = folder / name / f"{number:03}.parquet"
            part.with_columns(times).write_parquet(file)
            os.utime(file, (number, number))  # Spark reads the oldest first


def test_selectivities_that_swap_bring_another_plan_and_a_restart_keeps_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    seconds, swaps = SECONDS * (FILES + LATER), (30,)
    parts: dict[str, list[pl.DataFrame]] = {}
    for name, some in load(seconds, swaps):
        parts.setdefault(name, []).append(some)
    rows = {name: pl.concat(each) for name, each in parts.items()}
    text = STREAMS.format(tmp_path) + "SET adapt = on;" + QUERY
    into = text.replace("QUERY q AS", f"QUERY q INTO parquet '{tmp_path}/out' AS")
    told = QUERY.replace("QUERY q AS", "QUERY told AS").replace("5 SECONDS", "4 SECONDS")
    write(tmp_path, range(FILES), rows)
    engine = Engine(spark, checkpoint=tmp_path / "checkpoint")
    engine.sql(f"{into} SET adapt = advise; {told}")
    engine.start()
    engine.process_available()
    [change] = engine.status().migrations
    assert (change.before, change.after, change.is_over) == (WRITTEN, OTHER, True)
    assert change.reason.startswith("adapt: (a, (b, c)): ") and "% of a core" in change.reason
    assert "operators that have changed" in str(engine.sql("EXPLAIN LIVE q"))
    better = "joins that would be better:\n  (a, (b, c)): "
    assert better in str(engine.sql("EXPLAIN LIVE told"))
    running = engine._running_of("q")
    assert running is not None
    # It is written at once: this process may end before its 64th batch.
    [kept] = remembered_plans(running.checkpoint.folder)["q"].values()
    assert tree_text(kept.tree, "abc") == "(a, (b, c))" and kept.plans
    engine.stop()

    write(tmp_path, range(FILES, FILES + LATER), rows)
    later = Engine(spark, checkpoint=tmp_path / "checkpoint")
    later.sql(f"{into} SET adapt = advise; {told}")
    later.start()
    later.process_available()
    shapes = {n: shape_of(p) for each in later._running for n, p in each.program.plans.items()}
    assert shapes == {"q": OTHER, "told": WRITTEN}
    [controller] = later._adapting._watching["q"][2]._controllers.values()
    assert controller.is_chosen and controller.history.plans
    later.finish()
    assert later.status().migrations == ()
    files = sorted((tmp_path / "out").glob("*.parquet"))
    found = pl.concat(map(pl.read_parquet, files)).sort("a", "b", "c")
    assert found.equals(meaning(rows))
